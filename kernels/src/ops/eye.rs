use std::fmt;

use super::width::{grain, with_width};
use crate::driver::{Driver, RunError};
use crate::rt::Worker;
use crate::tape::Io;
use crate::tensor::{DType, Element};

/// A matrix `[rows, cols]` of zeros with `one` where `column - row == k`. No operands.
pub struct Eye {
    pub dtype: DType,
    pub rows: usize,
    pub cols: usize,
    pub k: i64,
    /// The bytes of a one of this type in memory order; those beyond its size are ignored.
    pub one: [u8; 8],
}

impl Eye {
    fn fill<T: Element>(&self, worker: &Worker<'_>, io: &Io<'_>) {
        let share = worker.share(self.rows, grain(self.cols * size_of::<T>()));
        // SAFETY: shares of ranks are disjoint.
        let out = unsafe { io.output::<T>(0).range(share.start * self.cols..share.end * self.cols) };
        out.fill(T::zeroed());
        let one = bytemuck::pod_read_unaligned(&self.one[..size_of::<T>()]);
        for (i, row) in share.enumerate() {
            let column = (row as i64).checked_add(self.k).and_then(|column| usize::try_from(column).ok());
            if let Some(column) = column.filter(|&column| column < self.cols) {
                out[i * self.cols + column] = one;
            }
        }
    }
}

impl fmt::Display for Eye {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "eye {} rows={} cols={} k={}", self.dtype, self.rows, self.cols, self.k)
    }
}

impl Driver for Eye {
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        with_width!(self.dtype, T => self.fill::<T>(worker, io));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::run_one;

    #[test]
    fn marks_one_diagonal() {
        for (rows, cols) in [(3, 4), (4, 3), (1, 1), (0, 3), (3, 0)] {
            for k in [i64::MIN, -2, 0, 1, i64::MAX] {
                let driver = Eye { dtype: DType::I32, rows, cols, k, one: 1u64.to_ne_bytes() };
                let got = run_one::<i32>(driver, 2, &[], rows * cols).unwrap();
                for (at, value) in got.iter().enumerate() {
                    let across = (at % cols) as i128 - (at / cols) as i128;
                    assert_eq!(*value, i32::from(across == k.into()));
                }
            }
        }
    }
}
