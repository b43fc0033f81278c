use std::fmt;

use super::width::grain;
use crate::driver::{Driver, RunError};
use crate::rt::Worker;
use crate::tape::Io;
use crate::tensor::{DType, Element};

/// `out[i] = start + i * delta` for `i < len`; integers wrap.
///
/// Operands: start and delta, one element each, of type `F32`, `I16`, `I32` or `I64`.
pub struct Range {
    pub dtype: DType,
    pub len: usize,
}

impl Range {
    fn fill<T: Element>(&self, worker: &Worker<'_>, io: &Io<'_>, at: impl Fn(T, T, usize) -> T) {
        let (start, delta) = (io.input::<T>(0)[0], io.input::<T>(1)[0]);
        let share = worker.share(self.len, grain(size_of::<T>()));
        // SAFETY: shares of ranks are disjoint.
        let out = unsafe { io.output::<T>(0).range(share.clone()) };
        for (y, i) in out.iter_mut().zip(share) {
            *y = at(start, delta, i);
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "range {} len={}", self.dtype, self.len)
    }
}

impl Driver for Range {
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        match self.dtype {
            DType::F32 => self.fill(worker, io, |start: f32, delta, i| start + i as f32 * delta),
            DType::I16 => {
                self.fill(worker, io, |start: i16, delta: i16, i| start.wrapping_add(delta.wrapping_mul(i as i16)))
            }
            DType::I32 => {
                self.fill(worker, io, |start: i32, delta: i32, i| start.wrapping_add(delta.wrapping_mul(i as i32)))
            }
            DType::I64 => {
                self.fill(worker, io, |start: i64, delta: i64, i| start.wrapping_add(delta.wrapping_mul(i as i64)))
            }
            other => return Err(RunError::Data(format!("range of {other}"))),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::run_one;

    #[test]
    fn counts_up_and_down() {
        let i64s = |start: i64, delta: i64, len| {
            let inputs = [bytemuck::bytes_of(&start), bytemuck::bytes_of(&delta)];
            run_one::<i64>(Range { dtype: DType::I64, len }, 2, &inputs, len).unwrap()
        };
        assert_eq!(i64s(3, 4, 3), [3, 7, 11]);
        assert_eq!(i64s(1, -1, 4), [1, 0, -1, -2]);
        assert_eq!(i64s(0, 1, 0), [0i64; 0]);
        assert_eq!(i64s(0, 1, 30_000), (0..30_000).collect::<Vec<i64>>());
        let inputs = [bytemuck::bytes_of(&1.0f32), bytemuck::bytes_of(&0.5f32)];
        assert_eq!(run_one::<f32>(Range { dtype: DType::F32, len: 3 }, 1, &inputs, 3).unwrap(), [1.0, 1.5, 2.0]);
    }
}
