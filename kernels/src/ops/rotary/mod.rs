//! Rotary position embedding, and the normalisation of heads that may come before.

mod rows;

use std::fmt;

use crate::driver::{Driver, RunError};
use crate::ops::attention::{Spans, Strided};
use crate::rt::Worker;
use crate::tape::Io;
use crate::ukr::prefetch;

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
        let rows = Rows::new(&self.rows, io, 1);
        let x = io.input::<f32>(0);
        let share = worker.share(self.rows.batch * self.rows.rows * self.heads, GRAIN.div_ceil(width.max(1)));
        for index in share {
            let (token, batch) = (index / self.heads, index / (self.heads * self.rows.rows));
            let (head, row) = (index - token * self.heads, token - batch * self.rows.rows);
            let span = self.spans.of(io, 1 + self.rows.operands(), batch)?;
            let (from, to) = (self.x.at(batch, head, row), self.out.at(batch, head, row));
            // SAFETY: rows are disjoint, and shares of ranks are.
            let out = unsafe { io.output::<f32>(0).range(to..to + width) };
            // Often the next row.
            prefetch(&x[from + width..][..width.min(x.len() - from - width)]);
            rows.turn(worker, [batch, row], span.first, &x[from..from + width], out)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
