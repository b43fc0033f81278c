use std::fmt;

use crate::driver::{Driver, RunError};
use crate::rt::Worker;
use crate::tape::Io;
use crate::tensor::{DType, Element};

use super::width::grain;

/// Running sums along the middle axis of `[outer, len, inner]`; integers wrap.
///
/// Operand: data of type `F32`, `I32`, `U32`, `I64` or `U64`.
pub struct CumSum {
    pub dtype: DType,
    pub outer: usize,
    pub len: usize,
    pub inner: usize,
    /// An element's own value is not part of its sum.
    pub exclusive: bool,
    /// Sums run from the end.
    pub reverse: bool,
}

impl CumSum {
    fn sum<T: Element>(&self, worker: &Worker<'_>, io: &Io<'_>, add: impl Fn(T, T) -> T) {
        let Self { len, inner, .. } = *self;
        let block = len * inner;
        let share = worker.share(self.outer, grain(block * size_of::<T>()));
        if share.is_empty() || block == 0 {
            return;
        }
        let input = &io.input::<T>(0)[share.start * block..share.end * block];
        // SAFETY: shares of ranks are disjoint.
        let out = unsafe { io.output::<T>(0).range(share.start * block..share.end * block) };
        for (y, x) in out.chunks_exact_mut(block).zip(input.chunks_exact(block)) {
            for step in 0..len {
                let row = |step: usize| if self.reverse { len - 1 - step } else { step } * inner;
                let at = row(step);
                let own = if self.exclusive { step.checked_sub(1).map(row) } else { Some(at) };
                for i in 0..inner {
                    let own = own.map_or(T::zeroed(), |own| x[own + i]);
                    y[at + i] = if step == 0 { own } else { add(y[row(step - 1) + i], own) };
                }
            }
        }
    }
}

impl fmt::Display for CumSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { dtype, outer, len, inner, exclusive, reverse } = self;
        write!(f, "cum_sum {dtype} outer={outer} len={len} inner={inner} exclusive={exclusive} reverse={reverse}")
    }
}

impl Driver for CumSum {
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        match self.dtype {
            DType::F32 => self.sum(worker, io, |a: f32, b| a + b),
            DType::I32 | DType::U32 => self.sum(worker, io, u32::wrapping_add),
            DType::I64 | DType::U64 => self.sum(worker, io, u64::wrapping_add),
            other => return Err(RunError::Data(format!("cum_sum of {other}"))),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::run_one;

    #[test]
    fn sums_in_all_four_ways() {
        for (outer, len, inner) in [(1, 5, 1), (3, 4, 2), (2, 1, 3), (2, 0, 3), (40, 33, 17)] {
            let input: Vec<i64> = (0..(outer * len * inner) as i64).map(|i| i * i % 97 - 40).collect();
            for (exclusive, reverse) in [(false, false), (false, true), (true, false), (true, true)] {
                let sum = |at: usize| -> i64 {
                    let (o, j, i) = (at / inner / len, at / inner % len, at % inner);
                    let part = |other: &usize| match (reverse, exclusive) {
                        (false, false) => *other <= j,
                        (false, true) => *other < j,
                        (true, false) => *other >= j,
                        (true, true) => *other > j,
                    };
                    (0..len).filter(part).map(|other| input[(o * len + other) * inner + i]).sum()
                };
                let want: Vec<i64> = (0..input.len()).map(sum).collect();
                let driver = CumSum { dtype: DType::I64, outer, len, inner, exclusive, reverse };
                let got = run_one::<i64>(driver, 2, &[bytemuck::cast_slice(&input)], want.len()).unwrap();
                assert_eq!(got, want);
                let floats: Vec<f32> = input.iter().map(|&x| x as f32).collect();
                let driver = CumSum { dtype: DType::F32, outer, len, inner, exclusive, reverse };
                let got = run_one::<f32>(driver, 1, &[bytemuck::cast_slice(&floats)], want.len()).unwrap();
                assert_eq!(got, want.iter().map(|&x| x as f32).collect::<Vec<f32>>());
            }
        }
    }
}
