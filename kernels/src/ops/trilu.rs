use std::fmt;

use super::width::{grain, with_width};
use crate::driver::{Driver, RunError};
use crate::rt::Worker;
use crate::tape::Io;
use crate::tensor::{DType, Element};

/// Keeps the upper (`column - row >= k`) or the lower (`column - row <= k`) triangle of each matrix and zeroes the rest.
///
/// Operands: matrices `[batch, rows, cols]` and optionally the diagonal `k`, one i64 (0 when left out).
pub struct Trilu {
    pub dtype: DType,
    pub batch: usize,
    pub rows: usize,
    pub cols: usize,
    pub upper: bool,
}

impl Trilu {
    fn cut<T: Element>(&self, worker: &Worker<'_>, io: &Io<'_>) {
        let Self { rows, cols, .. } = *self;
        let share = worker.share(self.batch * rows, grain(cols * size_of::<T>()));
        if share.is_empty() || cols == 0 {
            return;
        }
        let k = if io.inputs() > 1 { io.input::<i64>(1)[0] } else { 0 };
        let input = &io.input::<T>(0)[share.start * cols..share.end * cols];
        // SAFETY: shares of ranks are disjoint.
        let out = unsafe { io.output::<T>(0).range(share.start * cols..share.end * cols) };
        for ((y, x), row) in out.chunks_exact_mut(cols).zip(input.chunks_exact(cols)).zip(share) {
            let diagonal = ((row % rows) as i64).saturating_add(k);
            let keep = if self.upper {
                diagonal.clamp(0, cols as i64) as usize..cols
            } else {
                0..diagonal.saturating_add(1).clamp(0, cols as i64) as usize
            };
            y.fill(T::zeroed());
            y[keep.clone()].copy_from_slice(&x[keep]);
        }
    }
}

impl fmt::Display for Trilu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { dtype, batch, rows, cols, upper } = self;
        write!(f, "trilu {dtype} batch={batch} rows={rows} cols={cols} upper={upper}")
    }
}

impl Driver for Trilu {
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        with_width!(self.dtype, T => self.cut::<T>(worker, io));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::run_one;

    #[test]
    fn keeps_one_triangle() {
        for (batch, rows, cols) in [(1, 4, 5), (2, 3, 3), (3, 1, 7), (2, 0, 3), (2, 3, 0), (1, 130, 257)] {
            let input: Vec<u16> = (1..=(batch * rows * cols) as u16).collect();
            for k in [i64::MIN, -2, -1, 0, 1, 9, i64::MAX] {
                for upper in [false, true] {
                    let driver = Trilu { dtype: DType::F16, batch, rows, cols, upper };
                    let inputs = [bytemuck::cast_slice(&input), bytemuck::bytes_of(&k)];
                    let got = run_one::<u16>(driver, 2, &inputs, input.len()).unwrap();
                    for (at, (y, x)) in got.iter().zip(&input).enumerate() {
                        let across = (at % cols) as i128 - (at / cols % rows) as i128;
                        let keep = if upper { across >= k.into() } else { across <= k.into() };
                        assert_eq!(*y, if keep { *x } else { 0 });
                    }
                }
            }
        }
    }
}
