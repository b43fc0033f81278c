use std::fmt;
use std::ops::Range;

use super::broadcast::Broadcast;
use super::number::{Number, is_number, with_number};
use super::width::grain;
use crate::driver::{Driver, RunError};
use crate::host::vectorised;
use crate::rt::Worker;
use crate::tape::Io;
use crate::tensor::DType;
use crate::ukr::binary_f32::Function;
use crate::vector;

/// A binary operation on numbers of one type. Integers wrap on overflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArithmeticOp {
    Add,
    Sub,
    Mul,
    /// Integers truncate towards zero.
    Div,
    /// NaN if either is NaN.
    Min,
    /// NaN if either is NaN.
    Max,
    /// Remainder with the sign of the divisor.
    Modulo,
    /// Remainder with the sign of the dividend.
    Remainder,
    /// `a < 0 ? a * b : a`, the parametric ReLU.
    PRelu,
}

/// `y = op(a, b)` with NumPy broadcasting; inputs `a`, `b`, one output, all of one dtype.
pub struct Arithmetic {
    op: ArithmeticOp,
    dtype: DType,
    plan: Broadcast<2>,
}

impl Arithmetic {
    /// Operands of dims `a` and `b`.
    ///
    /// # Panics
    /// When the dims do not broadcast or `dtype` is not [supported](Self::supports).
    pub fn new(op: ArithmeticOp, dtype: DType, a: &[usize], b: &[usize]) -> Self {
        assert!(Self::supports(dtype), "arithmetic on {dtype}");
        Self { op, dtype, plan: Broadcast::new([a, b]) }
    }

    /// All operations work on f32 and the integers.
    pub fn supports(dtype: DType) -> bool {
        is_number(dtype)
    }

    /// The operation in the vectors of the worker's core, where it has it and rows are more than repeated numbers.
    fn vectors<'w>(&self, worker: &Worker<'w>) -> Option<vector::Binary<'w>> {
        if self.dtype != DType::F32 || self.plan.repeats() == [true, true] {
            return None;
        }
        let function = match self.op {
            ArithmeticOp::Add => Function::Add,
            ArithmeticOp::Sub => Function::Sub,
            ArithmeticOp::Mul => Function::Mul,
            ArithmeticOp::Div => Function::Div,
            ArithmeticOp::Min => Function::Min,
            ArithmeticOp::Max => Function::Max,
            ArithmeticOp::Modulo | ArithmeticOp::Remainder | ArithmeticOp::PRelu => return None,
        };
        vector::Binary::new(worker, function)
    }

    fn map_rows(&self, function: &vector::Binary<'_>, share: Range<usize>, a: &[f32], b: &[f32], y: &mut [f32]) {
        let [a_repeats, b_repeats] = self.plan.repeats();
        self.plan.for_each_row(share, |row, [i, j]| {
            let len = |repeats: bool| if repeats { 1 } else { row.len() };
            function.map(&a[i..i + len(a_repeats)], &b[j..j + len(b_repeats)], &mut y[row.clone()]);
        });
    }

    fn compute<T: Number>(&self, worker: &Worker<'_>, io: &Io<'_>) -> Result<(), RunError> {
        let share = worker.share(self.plan.len(), grain(size_of::<T>()));
        let (a, b) = (io.input::<T>(0), io.input::<T>(1));
        // SAFETY: shares of ranks are disjoint.
        let y = unsafe { io.output::<T>(0).range(share.clone()) };
        let divides = matches!(self.op, ArithmeticOp::Div | ArithmeticOp::Modulo | ArithmeticOp::Remainder);
        if divides && T::IS_INTEGER && !share.is_empty() && b.contains(&T::ZERO) {
            return Err(RunError::Data("integer division by zero".into()));
        }
        if let Some(function) = self.vectors(worker) {
            let (a, b, y) = (bytemuck::cast_slice(a), bytemuck::cast_slice(b), bytemuck::cast_slice_mut(y));
            self.map_rows(&function, share, a, b, y);
            return Ok(());
        }
        vectorised(
            #[inline(always)]
            || match self.op {
                ArithmeticOp::Add => self.plan.map(share, a, b, y, T::add),
                ArithmeticOp::Sub => self.plan.map(share, a, b, y, T::sub),
                ArithmeticOp::Mul => self.plan.map(share, a, b, y, T::mul),
                ArithmeticOp::Div => self.plan.map(share, a, b, y, T::div),
                ArithmeticOp::Min => self.plan.map(share, a, b, y, T::minimum),
                ArithmeticOp::Max => self.plan.map(share, a, b, y, T::maximum),
                ArithmeticOp::Modulo => self.plan.map(share, a, b, y, T::modulo),
                ArithmeticOp::Remainder => self.plan.map(share, a, b, y, T::rem),
                ArithmeticOp::PRelu => {
                    self.plan.map(share, a, b, y, |a, slope| if a < T::ZERO { a.mul(slope) } else { a });
                }
            },
        );
        Ok(())
    }
}

impl fmt::Display for Arithmetic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = format!("{:?}", self.op).to_lowercase();
        write!(f, "{name} {} dims={:?}", self.dtype, self.plan.dims())
    }
}

impl Driver for Arithmetic {
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        with_number!(self.dtype, T => self.compute::<T>(worker, io))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::broadcast::{PAIRS, reference_offsets};
    use crate::tensor::Element;
    use crate::testing::run_one;
    use ArithmeticOp::*;

    /// Compares with `f`, element by element, for every broadcast pattern; the operands take turns through `values`.
    fn check<T: Element + PartialEq + fmt::Debug>(op: ArithmeticOp, values: &[T], f: impl Fn(T, T) -> T) {
        for &(a_dims, b_dims) in PAIRS {
            let cycle = |dims: &[usize], step: usize| -> Vec<T> {
                (0..dims.iter().product()).map(|i: usize| values[i * step % values.len()]).collect()
            };
            let (a, b) = (cycle(a_dims, 1), cycle(b_dims, 3));
            let want: Vec<T> = reference_offsets([a_dims, b_dims]).iter().map(|&[i, j]| f(a[i], b[j])).collect();
            for ranks in 1..=3 {
                let driver = Arithmetic::new(op, T::DTYPE, a_dims, b_dims);
                let inputs = [bytemuck::cast_slice(&a), bytemuck::cast_slice(&b)];
                let got: Vec<T> = run_one(driver, ranks, &inputs, want.len()).unwrap();
                assert!(bytes(&got) == bytes(&want), "{op:?} {a_dims:?} {b_dims:?}: {got:?} != {want:?}");
            }
        }
    }

    /// NaNs compare by their bits; all in use here are the same one.
    fn bytes<T: Element>(values: &[T]) -> &[u8] {
        bytemuck::cast_slice(values)
    }

    #[test]
    fn floats() {
        let values = [1.5, -2.25, 0.0, f32::INFINITY, 3.0e38, -7.0, 1.0e-40, -0.5, f32::NEG_INFINITY, 8.0, 0.1];
        check::<f32>(Mul, &[1.5, -2.25, 0.0, 3.0e38, -7.0, 1.0e-40, -0.5], |a, b| a * b);
        check::<f32>(Div, &[1.5, -2.25, 3.0e38, -7.0, 1.0e-40, -0.5, 0.1], |a, b| a / b);
        check::<f32>(Remainder, &[5.5, -2.25, 3.0e8, -7.0, 1.0e-40, 0.1], |a, b| a % b);
        check::<f32>(PRelu, &values[..3], |a, b| if a < 0.0 { a * b } else { a });
        check::<f32>(Add, &[1.5, -2.25, 0.0, 3.0e38, -7.0, 1.0e-40], |a, b| a + b);
        check::<f32>(Sub, &[1.5, -2.25, 0.0, 3.0e38, -7.0, 1.0e-40], |a, b| a - b);
        let values = [values.as_slice(), &[f32::NAN]].concat();
        let either_nan = |a: f32, b: f32| a.is_nan() || b.is_nan();
        check::<f32>(Max, &values, |a, b| if either_nan(a, b) { f32::NAN } else { a.max(b) });
        check::<f32>(Min, &values, |a, b| if either_nan(a, b) { f32::NAN } else { a.min(b) });
    }

    #[test]
    fn integers_wrap() {
        let values = [7, -7, i64::MAX, i64::MIN, -1, 3, 1_000_003];
        let wide = |f: fn(i128, i128) -> i128| move |a: i64, b: i64| f(a.into(), b.into()) as i64;
        check(Add, &values, wide(|a, b| a + b));
        check(Sub, &values, wide(|a, b| a - b));
        check(Mul, &values, wide(|a, b| a * b));
        check(Div, &values, wide(|a, b| a / b));
        check(Remainder, &values, wide(|a, b| a % b));
        check(
            Modulo,
            &values,
            wide(|a, b| {
                let rem = a.rem_euclid(b.abs());
                if b < 0 && rem != 0 { rem + b } else { rem }
            }),
        );
        check(Max, &values, i64::max);
        check(Min, &values, i64::min);
        check::<i32>(Div, &[i32::MIN, -1, 5], i32::wrapping_div);
        check::<u8>(Sub, &[0, 1, 200, 255], u8::wrapping_sub);
        check::<u64>(Max, &[0, u64::MAX, 1 << 63], u64::max);
        check::<i16>(Mul, &[300, -300, i16::MIN], i16::wrapping_mul);
    }

    #[test]
    fn signs_of_remainders() {
        let (a, b) = ([7i32, -7, 7, -7, 6, -6], [3, 3, -3, -3, 3, -3]);
        let run = |op| {
            let inputs = [bytes(&a), bytes(&b)];
            run_one::<i32>(Arithmetic::new(op, DType::I32, &[6], &[6]), 1, &inputs, 6).unwrap()
        };
        assert_eq!(run(Modulo), [1, 2, -2, -1, 0, 0]);
        assert_eq!(run(Remainder), [1, -1, 1, -1, 0, 0]);
        let inf = f32::INFINITY;
        let (a, b) = ([-4.5f32, 4.5, -6.0, 6.0, -5.0, 5.0, inf, 1.0], [2f32, -2.0, 3.0, -3.0, inf, inf, 2.0, 0.0]);
        let inputs = [bytes(&a), bytes(&b)];
        let got = run_one::<f32>(Arithmetic::new(Modulo, DType::F32, &[8], &[8]), 1, &inputs, 8).unwrap();
        assert_eq!(bytes(&got[..6]), bytes(&[1.5f32, -1.5, 0.0, -0.0, inf, 5.0]));
        assert!(got[6].is_nan() && got[7].is_nan());
    }

    #[test]
    fn a_zero_divisor_is_an_error_for_integers_only() {
        for op in [Div, Modulo, Remainder] {
            let inputs: [&[u8]; 2] = [bytes(&[1i32, 2]), bytes(&[1i32, 0])];
            let result = run_one::<i32>(Arithmetic::new(op, DType::I32, &[2], &[2]), 2, &inputs, 2);
            assert_eq!(result, Err(RunError::Data("integer division by zero".into())));
        }
        let inputs: [&[u8]; 2] = [bytes(&[1f32, -2.0]), bytes(&[0f32, 0.0])];
        let result = run_one::<f32>(Arithmetic::new(Div, DType::F32, &[2], &[2]), 1, &inputs, 2);
        assert_eq!(result.unwrap(), [f32::INFINITY, f32::NEG_INFINITY]);
    }
}
