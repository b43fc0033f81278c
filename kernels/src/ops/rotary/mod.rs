//! Rotary position embedding, and the normalisation of heads that may come before.

mod norm;
mod portable;
mod rows;

use std::fmt;
use std::ops::Range;

use crate::driver::{Driver, RunError};
use crate::ops::attention::{Spans, Strided};
use crate::rt::Worker;
use crate::tape::{Io, SharedOut};
use crate::ukr::prefetch;
use crate::vector::rotate::RowsAt;

pub(crate) use rows::Rows;
pub use rows::{HeadRows, Positions, Rotation};

/// Elements that one rank takes at least.
const GRAIN: usize = 2048;

/// Turns rows of heads, f32.
///
/// Operands: x, those of `rows`, those of `spans`. Output: rows in the places that `out` tells.
#[derive(Clone, Debug)]
pub struct Rotary {
    pub heads: usize,
    /// Where `[batch, heads, rows, width]` lie; neighbours in a row are neighbours in memory.
    pub x: Strided,
    pub out: Strided,
    pub rows: HeadRows,
    pub spans: Spans,
}

impl fmt::Display for Rotary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rotary h={} {}", self.heads, self.rows)
    }
}

impl Driver for Rotary {
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        let width = self.rows.width;
        let (x, out) = (io.input::<f32>(0), io.output::<f32>(0));
        let turn = Turn { driver: self, worker, x, out, rows: Rows::new(&self.rows, worker, io, 1) };
        let share = worker.share(self.rows.batch * self.rows.rows * self.heads, GRAIN.div_ceil(width.max(1)));
        let mut next = share.start;
        while next < share.end {
            let (token, batch) = (next / self.heads, next / (self.heads * self.rows.rows));
            let (head, row) = (next - token * self.heads, token - batch * self.rows.rows);
            let heads = head..self.heads.min(head + share.end - next);
            next += heads.len();
            let first = self.spans.of(io, 1 + self.rows.operands(), batch)?.first;
            // Often the next rows.
            let behind = self.x.at(batch, heads.end - 1, row) + width;
            prefetch(&x[behind..][..(heads.len() * width).min(x.len() - behind)]);
            turn.row([batch, row], first, heads)?;
        }
        Ok(())
    }
}

/// The operands of a run.
struct Turn<'a> {
    driver: &'a Rotary,
    worker: &'a Worker<'a>,
    x: &'a [f32],
    out: SharedOut<'a, f32>,
    rows: Rows<'a>,
}

impl Turn<'_> {
    /// Row `row` of some heads of sequence `batch`, whose first row has the position `first`.
    fn row(&self, [batch, row]: [usize; 2], first: isize, heads: Range<usize>) -> Result<(), RunError> {
        let (Rotary { x, out, .. }, width) = (self.driver, self.driver.rows.width);
        let [from, to] = [x, out].map(|rows| {
            let first = rows.at(batch, heads.start, row);
            first..first + (heads.len() - 1) * rows.head + width
        });
        let from = RowsAt { at: self.x[from].as_ptr(), stride: x.head };
        let to = RowsAt { at: self.out.pointer(to), stride: out.head };
        // SAFETY: both operands reach to the last row; rows are disjoint, and shares of ranks are.
        if unsafe { self.rows.turn_heads(self.worker, [batch, row], first, heads.len(), from, to)? } {
            return Ok(());
        }
        for head in heads {
            let (from, to) = (x.at(batch, head, row), out.at(batch, head, row));
            // SAFETY: as above.
            let out = unsafe { self.out.range(to..to + width) };
            self.rows.turn(self.worker, [batch, row], first, &self.x[from..from + width], out)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
