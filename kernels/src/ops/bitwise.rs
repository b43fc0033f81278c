use std::fmt;
use std::ops::Range;

use super::broadcast::Broadcast;
use super::number::is_number;
use super::width::{grain, with_width};
use crate::driver::{Driver, RunError};
use crate::host::vectorised;
use crate::rt::Worker;
use crate::tape::Io;
use crate::tensor::{DType, Element};

/// A binary operation on the bits of integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BitwiseOp {
    And,
    Or,
    Xor,
    /// A shift by the width or more, or by a negative number, gives zero.
    ShiftLeft,
    /// Likewise; signed integers are filled with their sign.
    ShiftRight,
}

/// `y = op(a, b)` with NumPy broadcasting; inputs `a`, `b`, one output, all integers of one type.
pub struct Bitwise {
    op: BitwiseOp,
    dtype: DType,
    plan: Broadcast<2>,
}

/// Integers as wide as the elements.
trait Bits: Element {
    fn apply(op: BitwiseOp, plan: &Broadcast<2>, share: Range<usize>, a: &[Self], b: &[Self], y: &mut [Self]);
}

macro_rules! bits {
    ($($t:ty: $unsigned:ty, $fill:expr);*) => { $(
        impl Bits for $t {
            #[inline(always)]
            fn apply(op: BitwiseOp, plan: &Broadcast<2>, share: Range<usize>, a: &[Self], b: &[Self], y: &mut [Self]) {
                let by = |b: $t| u32::try_from(b as $unsigned).unwrap_or(u32::MAX);
                match op {
                    BitwiseOp::And => plan.map(share, a, b, y, |a, b| a & b),
                    BitwiseOp::Or => plan.map(share, a, b, y, |a, b| a | b),
                    BitwiseOp::Xor => plan.map(share, a, b, y, |a, b| a ^ b),
                    BitwiseOp::ShiftLeft => plan.map(share, a, b, y, |a, b| a.checked_shl(by(b)).unwrap_or(0)),
                    BitwiseOp::ShiftRight => plan.map(share, a, b, y, |a, b| a.checked_shr(by(b)).unwrap_or($fill(a))),
                }
            }
        }
    )* };
}
bits!(u8: u8, |_| 0; u16: u16, |_| 0; u32: u32, |_| 0; u64: u64, |_| 0;
    i8: u8, |a| a >> 7; i16: u16, |a| a >> 15; i32: u32, |a| a >> 31; i64: u64, |a| a >> 63);

impl Bitwise {
    /// Operands of dims `a` and `b`.
    ///
    /// # Panics
    /// When the dims do not broadcast or `dtype` is not [supported](Self::supports).
    pub fn new(op: BitwiseOp, dtype: DType, a: &[usize], b: &[usize]) -> Self {
        assert!(Self::supports(dtype), "{op:?} of {dtype}");
        Self { op, dtype, plan: Broadcast::new([a, b]) }
    }

    /// Integers.
    pub fn supports(dtype: DType) -> bool {
        is_number(dtype) && !dtype.is_float()
    }

    fn compute<T: Bits>(&self, worker: &Worker<'_>, io: &Io<'_>) {
        let share = worker.share(self.plan.len(), grain(size_of::<T>()));
        let (a, b) = (io.input::<T>(0), io.input::<T>(1));
        // SAFETY: shares of ranks are disjoint.
        let y = unsafe { io.output::<T>(0).range(share.clone()) };
        vectorised(
            #[inline(always)]
            || T::apply(self.op, &self.plan, share, a, b, y),
        );
    }
}

impl fmt::Display for Bitwise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bitwise {:?} {} dims={:?}", self.op, self.dtype, self.plan.dims())
    }
}

impl Driver for Bitwise {
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        match self.dtype {
            DType::I8 => self.compute::<i8>(worker, io),
            DType::I16 => self.compute::<i16>(worker, io),
            DType::I32 => self.compute::<i32>(worker, io),
            DType::I64 => self.compute::<i64>(worker, io),
            dtype => with_width!(dtype, T => self.compute::<T>(worker, io)),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::broadcast::{PAIRS, reference_offsets};
    use crate::testing::run_one;

    fn check<T: Element + PartialEq + fmt::Debug>(op: BitwiseOp, values: &[T], f: impl Fn(T, T) -> T) {
        for &(a_dims, b_dims) in PAIRS {
            let cycle = |dims: &[usize], step: usize| -> Vec<T> {
                (0..dims.iter().product()).map(|i: usize| values[i * step % values.len()]).collect()
            };
            let (a, b) = (cycle(a_dims, 1), cycle(b_dims, 3));
            let want: Vec<T> = reference_offsets([a_dims, b_dims]).iter().map(|&[i, j]| f(a[i], b[j])).collect();
            let driver = Bitwise::new(op, T::DTYPE, a_dims, b_dims);
            let inputs = [bytemuck::cast_slice(&a), bytemuck::cast_slice(&b)];
            assert_eq!(run_one::<T>(driver, 2, &inputs, want.len()).unwrap(), want, "{op:?} {a_dims:?} {b_dims:?}");
        }
    }

    #[test]
    fn bits_of_all_widths() {
        let values = [0i32, -1, 7, i32::MIN, 0x0f0f_0f0f, 12345, -98765, 31];
        check(BitwiseOp::And, &values, |a, b| a & b);
        check(BitwiseOp::Or, &values, |a, b| a | b);
        check(BitwiseOp::Xor, &values, |a, b| a ^ b);
        check(BitwiseOp::Xor, &[1u8, 255, 0x5a], |a, b| a ^ b);
        check(BitwiseOp::And, &[-1i64, 1 << 40, 3], |a, b| a & b);
        let shift = |a: u64, b: u64| (0..b.min(64)).fold(a, |a, _| a.wrapping_mul(2));
        check(BitwiseOp::ShiftLeft, &[1u64, 3, 63, 64, u64::MAX, 17], shift);
        let shift = |a: u16, b: u16| (0..b.min(16)).fold(a, |a, _| a / 2);
        check(BitwiseOp::ShiftRight, &[1u16, 3, 15, 16, u16::MAX, 5], shift);
        let places = |b: i32| if (0..32).contains(&b) { b } else { 32 };
        check(BitwiseOp::ShiftRight, &values, |a, b| (0..places(b)).fold(a, |a, _| a.div_euclid(2)));
        check(BitwiseOp::ShiftLeft, &values, |a, b| (0..places(b)).fold(a, |a, _| a.wrapping_mul(2)));
    }
}
