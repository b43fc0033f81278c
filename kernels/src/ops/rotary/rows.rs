use std::fmt;
use std::sync::Arc;

use crate::driver::RunError;
use crate::host::vectorised;
use crate::rt::Worker;
use crate::tape::Io;
use crate::ukr::rotate_f32::Pairs;
use crate::vector;

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
    weight: &'a [f32],
    cos: &'a [f32],
    sin: &'a [f32],
    ids: &'a [i64],
}

impl<'a> Rows<'a> {
    /// The operands begin at `operand`.
    pub fn new(config: &'a HeadRows, io: &Io<'a>, operand: usize) -> Self {
        let mut rows = Self { config, weight: &[], cos: &[], sin: &[], ids: &[] };
        let mut next = operand;
        if config.norm.is_some() {
            rows.weight = io.input(next);
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
        let is_normed = self.config.norm.is_some();
        if let Some(epsilon) = self.config.norm {
            vectorised(
                #[inline(always)]
                || norm(x, self.weight, epsilon, out),
            );
        }
        let Some(rotation) = &self.config.rotation else {
            if !is_normed {
                out.copy_from_slice(x);
            }
            return Ok(());
        };
        let pairs = rotation.pairs;
        let token = batch * self.config.rows + row;
        let position = |given: i64| self.cached(rotation, given);
        let at = match &rotation.positions {
            Positions::Gathered => token,
            Positions::Span => position((first + row as isize) as i64)?,
            Positions::Each => position(self.ids[token])?,
            Positions::From => position(self.ids[0].saturating_add(row as i64))?,
            Positions::Sections(sections) => {
                let tokens = self.config.batch * self.config.rows;
                let mut at = [0; 3];
                for (section, at) in at.iter_mut().enumerate() {
                    *at = position(self.ids[section * tokens + token])?;
                }
                let angle = |pair: usize| {
                    let at = at[usize::from(sections[pair])] * pairs + pair;
                    (self.cos[at], self.sin[at])
                };
                if !is_normed {
                    out.copy_from_slice(x);
                }
                turn(out, pairs, rotation.interleaved, angle);
                return Ok(());
            }
        };
        let angles = [self.cos, self.sin].map(|angles| &angles[at * pairs..][..pairs]);
        let places = if rotation.interleaved { Pairs::Neighbours } else { Pairs::Halves };
        let (turned, rest) = out.split_at_mut(2 * pairs);
        let in_vectors = if is_normed {
            vector::rotate_in_place(worker, places, turned, angles)
        } else {
            rest.copy_from_slice(&x[2 * pairs..]);
            vector::rotate(worker, places, &x[..2 * pairs], turned, angles)
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

    fn cached(&self, rotation: &Rotation, position: i64) -> Result<usize, RunError> {
        let row = usize::try_from(position).ok().filter(|&row| row < rotation.cached);
        row.ok_or_else(|| {
            let rows = rotation.cached;
            RunError::Data(format!("position {position} is not in the {rows} rows of the cosine and sine caches"))
        })
    }
}

#[inline(always)]
fn norm(x: &[f32], weight: &[f32], epsilon: f32, out: &mut [f32]) {
    let mut squares = [0.0; 16];
    let chunks = x.chunks_exact(16);
    let rest: f32 = chunks.remainder().iter().map(|x| x * x).sum();
    for chunk in chunks {
        squares.iter_mut().zip(chunk).for_each(|(sum, x)| *sum += x * x);
    }
    let mean = (squares.iter().sum::<f32>() + rest) / x.len() as f32;
    let inverse = 1.0 / (mean + epsilon).sqrt();
    out.iter_mut().zip(x.iter().zip(weight)).for_each(|(y, (x, weight))| *y = x * inverse * weight);
}

/// Turns the pairs of `row`, each by the angle with this cosine and sine.
#[inline(always)]
fn turn(row: &mut [f32], pairs: usize, interleaved: bool, angle: impl Fn(usize) -> (f32, f32)) {
    if interleaved {
        for (index, pair) in row.chunks_exact_mut(2).take(pairs).enumerate() {
            let ((cos, sin), (a, b)) = (angle(index), (pair[0], pair[1]));
            (pair[0], pair[1]) = (a * cos - b * sin, a * sin + b * cos);
        }
        return;
    }
    let (first, rest) = row.split_at_mut(pairs);
    for (index, (x, y)) in first.iter_mut().zip(&mut rest[..pairs]).enumerate() {
        let ((cos, sin), (a, b)) = (angle(index), (*x, *y));
        (*x, *y) = (a * cos - b * sin, a * sin + b * cos);
    }
}
