use crate::driver::RunError;
use crate::ops::indices::Indices;
use crate::tape::Io;
use crate::tensor::DType;

/// Positions of one sequence of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Positions that hold keys and values.
    pub keys: usize,
    /// Position of the first query: negative where there are more queries than positions.
    pub first: isize,
}

/// Where the spans of a batch come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spans {
    /// All sequences are alike.
    Same(Span),
    /// An operand i32 `[batch]` holds the last position of each sequence, below `capacity`. The last `queries` positions
    /// are new, or all of a shorter sequence; when `counted`, as many as a second operand i32 `[batch]` says.
    Last { queries: usize, capacity: usize, counted: bool },
    /// An operand i64 `[batch]` holds the number of positions of each sequence, the last of which is that of the last of
    /// `queries` queries.
    Filled { queries: usize, capacity: usize },
}

impl Spans {
    /// Number of operands that hold the spans.
    pub fn operands(&self) -> usize {
        match self {
            Spans::Same(_) => 0,
            Spans::Last { counted, .. } => 1 + usize::from(*counted),
            Spans::Filled { .. } => 1,
        }
    }

    /// The span of sequence `batch`; the operands begin at `operand`.
    ///
    /// # Errors
    /// [`RunError::Data`] when a length does not fit the cache.
    pub(crate) fn of(&self, io: &Io<'_>, operand: usize, batch: usize) -> Result<Span, RunError> {
        match *self {
            Spans::Same(span) => Ok(span),
            Spans::Last { queries, capacity, counted } => {
                let keys = within(i64::from(io.input::<i32>(operand)[batch]), 0..capacity, "a last position")? + 1;
                let most = queries.min(keys);
                let new = match counted {
                    true => within(i64::from(io.input::<i32>(operand + 1)[batch]), 0..most + 1, "a number of queries")?,
                    false => most,
                };
                Ok(Span { keys, first: (keys - new) as isize })
            }
            Spans::Filled { queries, capacity } => {
                let given = Indices::of(io, operand, DType::I64).get(batch);
                let keys = within(given, 0..capacity + 1, "a number of keys")?;
                Ok(Span { keys, first: keys as isize - queries as isize })
            }
        }
    }
}

fn within(given: i64, range: std::ops::Range<usize>, what: &str) -> Result<usize, RunError> {
    let value = usize::try_from(given).ok().filter(|value| range.contains(value));
    value.ok_or_else(|| RunError::Data(format!("{what} of {given} is not in {range:?}")))
}
