use std::fmt;
use std::sync::Arc;

use super::norm::Norm;
use super::portable::turn;
use crate::driver::RunError;
use crate::host::vectorised;
use crate::rt::Worker;
use crate::tape::Io;
use crate::ukr::rotate_f32::Pairs;
use crate::vector;
use crate::vector::rotate::{RowsAt, rotate_rows};

/// Which row of the caches of cosines and sines turns a row of heads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Positions {
    /// The caches are `[batch * rows, pairs]`: one for each row.
    Gathered,
    /// The position that the span of the sequence gives the row.
    Span,
    /// An operand i64 `[batch, rows]` holds the positions.
    Each,
    /// An operand i64 `[1]` holds the position of the first row of every sequence.
    From,
    /// An operand i64 `[3, batch, rows]` holds three positions, of which pair `i` takes number `sections[i]`.
    Sections(Arc<[u8]>),
}

/// Rotation of pairs of elements by angles whose cosines and sines are given (Su et al., arXiv 2104.09864):
/// `(a, b)` becomes `(a * cos - b * sin, a * sin + b * cos)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// The first `2 * pairs` elements of a row are turned.
    pub pairs: usize,
    /// Pairs are neighbours, not `pairs` elements apart.
    pub interleaved: bool,
    pub positions: Positions,
    /// Rows of the caches.
    pub cached: usize,
}

impl Rotation {
    fn places(&self) -> Pairs {
        if self.interleaved { Pairs::Neighbours } else { Pairs::Halves }
    }
}

/// What happens to `[batch, rows]` rows of `width` elements of each head: divided by the root of the mean square plus an
/// epsilon and multiplied by a weight, then turned.
///
/// Operands, all f32 but the positions: weight `[width]`; cosines and sines `[cached, pairs]`, positions.
#[derive(Clone, Debug)]
pub struct HeadRows {
    pub batch: usize,
    pub rows: usize,
    pub width: usize,
    pub norm: Option<f32>,
    pub rotation: Option<Rotation>,
}

impl HeadRows {
    pub fn operands(&self) -> usize {
        let rotation = self.rotation.as_ref().map_or(0, |rotation| match rotation.positions {
            Positions::Gathered | Positions::Span => 2,
            Positions::Each | Positions::From | Positions::Sections(_) => 3,
        });
        usize::from(self.norm.is_some()) + rotation
    }
}

impl fmt::Display for HeadRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b={} s={} d={}", self.batch, self.rows, self.width)?;
        if self.norm.is_some() {
            write!(f, " normed")?;
        }
        match &self.rotation {
            Some(rotation) if rotation.interleaved => write!(f, " turned {} neighbours", rotation.pairs),
            Some(rotation) => write!(f, " turned {}", rotation.pairs),
            None => Ok(()),
        }
    }
}

/// [`HeadRows`] with its operands.
pub(crate) struct Rows<'a> {
    config: &'a HeadRows,
    norm: Option<Norm<'a>>,
    cos: &'a [f32],
    sin: &'a [f32],
    ids: &'a [i64],
}

impl<'a> Rows<'a> {
    /// The operands begin at `operand`.
    pub fn new(config: &'a HeadRows, worker: &Worker<'a>, io: &Io<'a>, operand: usize) -> Self {
        let mut rows = Self { config, norm: None, cos: &[], sin: &[], ids: &[] };
        let mut next = operand;
        if let Some(epsilon) = config.norm {
            rows.norm = Some(Norm::new(worker, io.input(next), epsilon));
            next += 1;
        }
        if config.rotation.is_some() {
            (rows.cos, rows.sin) = (io.input(next), io.input(next + 1));
        }
        if next + 2 < operand + config.operands() {
            rows.ids = io.input(next + 2);
        }
        rows
    }

    /// Writes row `row` of sequence `batch`, whose first row has the position `first`, from `x` to `out`.
    ///
    /// # Errors
    /// [`RunError::Data`] when the caches do not reach to its position.
    pub fn turn(
        &self,
        worker: &Worker<'_>,
        [batch, row]: [usize; 2],
        first: isize,
        x: &[f32],
        out: &mut [f32],
    ) -> Result<(), RunError> {
        let is_normed = self.norm.is_some();
        if let Some(norm) = &self.norm {
            norm.run(x, out);
        }
        let Some(rotation) = &self.config.rotation else {
            if !is_normed {
                out.copy_from_slice(x);
            }
            return Ok(());
        };
        let pairs = rotation.pairs;
        let Some(angles) = self.angles(rotation, [batch, row], first)? else {
            let angle = self.sectional(rotation, batch * self.config.rows + row)?;
            if !is_normed {
                out.copy_from_slice(x);
            }
            turn(out, pairs, rotation.interleaved, angle);
            return Ok(());
        };
        let (turned, rest) = out.split_at_mut(2 * pairs);
        let in_vectors = if is_normed {
            vector::rotate_in_place(worker, rotation.places(), turned, angles)
        } else {
            rest.copy_from_slice(&x[2 * pairs..]);
            vector::rotate(worker, rotation.places(), &x[..2 * pairs], turned, angles)
        };
        if !in_vectors {
            if !is_normed {
                turned.copy_from_slice(&x[..2 * pairs]);
            }
            vectorised(
                #[inline(always)]
                || turn(turned, pairs, rotation.interleaved, |pair| (angles[0][pair], angles[1][pair])),
            );
        }
        Ok(())
    }

    /// Writes row `row` of sequence `batch` for so many heads from `x` to `out` at once; `false` where a row has to be written by
    /// [`Rows::turn`].
    ///
    /// # Errors
    /// As [`Rows::turn`].
    ///
    /// # Safety
    /// The rows of the heads are `width` numbers that the caller may read and write.
    pub unsafe fn turn_heads(
        &self,
        worker: &Worker<'_>,
        [batch, row]: [usize; 2],
        first: isize,
        heads: usize,
        x: RowsAt<*const f32>,
        out: RowsAt<*mut f32>,
    ) -> Result<bool, RunError> {
        let whole = |rotation: &&Rotation| self.norm.is_none() && 2 * rotation.pairs == self.config.width;
        let Some(rotation) = self.config.rotation.as_ref().filter(whole) else { return Ok(false) };
        let Some(angles) = self.angles(rotation, [batch, row], first)? else { return Ok(false) };
        // SAFETY: the caller's promise; rows have two numbers for each angle.
        Ok(unsafe { rotate_rows(worker, rotation.places(), heads, x, out, angles) })
    }

    /// The cosines and sines of a row; `None` where its pairs have positions of their own.
    fn angles(
        &self,
        rotation: &Rotation,
        [batch, row]: [usize; 2],
        first: isize,
    ) -> Result<Option<[&'a [f32]; 2]>, RunError> {
        let token = batch * self.config.rows + row;
        let position = |given: i64| self.cached(rotation, given);
        let at = match &rotation.positions {
            Positions::Gathered => token,
            Positions::Span => position((first + row as isize) as i64)?,
            Positions::Each => position(self.ids[token])?,
            Positions::From => position(self.ids[0].saturating_add(row as i64))?,
            Positions::Sections(_) => return Ok(None),
        };
        Ok(Some([self.cos, self.sin].map(|angles| &angles[at * rotation.pairs..][..rotation.pairs])))
    }

    /// The cosine and sine of each pair of a row whose pairs have positions of their own.
    fn sectional(&self, rotation: &Rotation, token: usize) -> Result<impl Fn(usize) -> (f32, f32), RunError> {
        let sections: &[u8] = if let Positions::Sections(sections) = &rotation.positions { sections } else { &[] };
        let tokens = self.config.batch * self.config.rows;
        let mut at = [0; 3];
        for (section, at) in at.iter_mut().enumerate() {
            *at = self.cached(rotation, self.ids[section * tokens + token])?;
        }
        Ok(move |pair: usize| {
            let at = at[usize::from(sections[pair])] * rotation.pairs + pair;
            (self.cos[at], self.sin[at])
        })
    }

    fn cached(&self, rotation: &Rotation, position: i64) -> Result<usize, RunError> {
        let row = usize::try_from(position).ok().filter(|&row| row < rotation.cached);
        row.ok_or_else(|| {
            let rows = rotation.cached;
            RunError::Data(format!("position {position} is not in the {rows} rows of the cosine and sine caches"))
        })
    }
}
