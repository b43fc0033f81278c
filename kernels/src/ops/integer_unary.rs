use std::fmt;

use super::number::{Number, is_number, with_number};
use super::width::grain;
use crate::driver::{Driver, RunError};
use crate::host::vectorised;
use crate::rt::Worker;
use crate::tape::Io;
use crate::tensor::DType;

/// A function of one integer. The smallest signed integer is its own absolute value and negation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntegerUnaryOp {
    Abs,
    Neg,
    Relu,
    /// -1, 0 or 1.
    Sign,
}

/// `y = op(x)` on `len` integers; one input, one output.
pub struct IntegerUnary {
    op: IntegerUnaryOp,
    dtype: DType,
    len: usize,
}

impl IntegerUnary {
    /// # Panics
    /// When `dtype` is not [supported](Self::supports).
    pub fn new(op: IntegerUnaryOp, dtype: DType, len: usize) -> Self {
        assert!(Self::supports(dtype), "{op:?} of {dtype}");
        Self { op, dtype, len }
    }

    /// All integers.
    pub fn supports(dtype: DType) -> bool {
        is_number(dtype) && !dtype.is_float()
    }

    fn compute<T: Number>(&self, worker: &Worker<'_>, io: &Io<'_>) {
        let share = worker.share(self.len, grain(size_of::<T>()));
        // SAFETY: shares of ranks are disjoint.
        let y = unsafe { io.output::<T>(0).range(share.clone()) };
        let x = &io.input::<T>(0)[share];
        let negate = |x| T::ZERO.sub(x);
        match self.op {
            IntegerUnaryOp::Abs => each(x, y, |x| if x < T::ZERO { negate(x) } else { x }),
            IntegerUnaryOp::Neg => each(x, y, negate),
            IntegerUnaryOp::Relu => each(x, y, |x| x.maximum(T::ZERO)),
            IntegerUnaryOp::Sign => each(x, y, |x| match x {
                x if x > T::ZERO => T::ONE,
                x if x < T::ZERO => negate(T::ONE),
                _ => T::ZERO,
            }),
        }
    }
}

fn each<T: Number>(x: &[T], y: &mut [T], f: impl Fn(T) -> T) {
    vectorised(
        #[inline(always)]
        || y.iter_mut().zip(x).for_each(|(y, &x)| *y = f(x)),
    );
}

impl fmt::Display for IntegerUnary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} len={}", format!("{:?}", self.op).to_lowercase(), self.dtype, self.len)
    }
}

impl Driver for IntegerUnary {
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        with_number!(self.dtype, T => self.compute::<T>(worker, io));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::Element;
    use crate::testing::run_one;
    use IntegerUnaryOp::*;

    fn run<T: Element>(op: IntegerUnaryOp, x: &[T]) -> Vec<T> {
        run_one(IntegerUnary::new(op, T::DTYPE, x.len()), 2, &[bytemuck::cast_slice(x)], x.len()).unwrap()
    }

    #[test]
    fn integers() {
        let x = [3, -3, 0, i32::MIN, i32::MAX];
        assert_eq!(run(Abs, &x), [3, 3, 0, i32::MIN, i32::MAX]);
        assert_eq!(run(Neg, &x), [-3, 3, 0, i32::MIN, -i32::MAX]);
        assert_eq!(run(Relu, &x), [3, 0, 0, 0, i32::MAX]);
        assert_eq!(run(Sign, &x), [1, -1, 0, -1, 1]);
        assert_eq!(run(Sign, &[i64::MIN, 0, 9]), [-1, 0, 1]);
        assert_eq!(run(Abs, &[0u8, 255]), [0, 255]);
        assert_eq!(run(Sign, &[0u64, u64::MAX]), [0, 1]);
        assert_eq!(run(Neg, &[i8::MIN, 1]), [i8::MIN, -1]);
    }
}
