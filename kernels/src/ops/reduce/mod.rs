//! Reductions over any set of axes.

mod plan;
#[cfg(test)]
mod tests;
mod vectors;

use std::fmt;

use plan::Plan;

use crate::driver::{Driver, RunError};
use crate::rt::Worker;
use crate::tape::Io;
use crate::tensor::{DType, Element};

/// What to make of the reduced elements `x`. An empty set gives what each line says after the arrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReduceOp {
    /// `sum |x|` -> 0
    L1,
    /// `sqrt(sum x^2)` -> 0
    L2,
    /// `ln(sum x)` -> -infinity
    LogSum,
    /// `ln(sum exp(x))` -> -infinity
    LogSumExp,
    /// NaN if any is NaN. -> -infinity or the smallest integer
    Max,
    /// Integers truncate towards zero. -> 0, as ONNX Runtime has it
    Mean,
    /// NaN if any is NaN. -> infinity or the largest integer
    Min,
    /// -> 1
    Prod,
    /// -> 0
    Sum,
    /// `sum x^2` -> 0
    SumSquare,
}

/// Reduces one input to one output of the same dtype.
///
/// Floats accumulate in f64 and round once. Integers accumulate in i64 and keep the low bits, but where a root or a
/// logarithm is asked for: that is f64, converted towards zero.
pub struct Reduce {
    op: ReduceOp,
    dtype: DType,
    plan: Plan,
}

impl Reduce {
    /// Reduces the axes of `dims` for which `reduced` is true; the output has the other ones, in their order.
    ///
    /// # Panics
    /// When `dims` and `reduced` differ in length or `dtype` is not [supported](Self::supports).
    pub fn new(op: ReduceOp, dtype: DType, dims: &[usize], reduced: &[bool]) -> Self {
        assert!(Self::supports(op, dtype), "{op:?} of {dtype}");
        Self { op, dtype, plan: Plan::new(dims, reduced) }
    }

    /// f32; i32 and i64 but for `LogSumExp`; extremes also of i8, u8 and bools.
    pub fn supports(op: ReduceOp, dtype: DType) -> bool {
        match dtype {
            DType::F32 => true,
            DType::I32 | DType::I64 => op != ReduceOp::LogSumExp,
            DType::I8 | DType::U8 | DType::Bool => matches!(op, ReduceOp::Max | ReduceOp::Min),
            _ => false,
        }
    }

    fn floats(&self, worker: &Worker<'_>, io: &Io<'_>, scratch: &mut [u8]) {
        let plan = &self.plan;
        if vectors::run(self.op, plan, worker, io, scratch).is_some() {
            return;
        }
        let n = plan.reduced_len().max(1) as f64;
        let sum = |a: f64, x: f32| a + f64::from(x);
        let squares = |a: f64, x: f32| a + f64::from(x) * f64::from(x);
        let narrow = |a: f64| a as f32;
        match self.op {
            ReduceOp::L1 => plan.run(worker, io, real_sum(|a, x: f32| a + f64::from(x.abs()), narrow)),
            ReduceOp::L2 => plan.run(worker, io, real_sum(squares, |a| a.sqrt() as f32)),
            ReduceOp::LogSum => plan.run(worker, io, real_sum(sum, |a| a.ln() as f32)),
            ReduceOp::LogSumExp => {
                let step = |a: LogSumExp, x: f32| a.merge(LogSumExp { max: x.into(), sum: 1.0 });
                let finish = |a: LogSumExp| (a.max + a.sum.ln()) as f32;
                plan.run(worker, io, Fold { init: LogSumExp::EMPTY, step, merge: LogSumExp::merge, finish });
            }
            ReduceOp::Mean => plan.run(worker, io, real_sum(sum, move |a| (a / n) as f32)),
            ReduceOp::Sum => plan.run(worker, io, real_sum(sum, narrow)),
            ReduceOp::SumSquare => plan.run(worker, io, real_sum(squares, narrow)),
            ReduceOp::Max => {
                let step = |a, x: f32| larger(a, f64::from(x));
                plan.run(worker, io, Fold { init: f64::NEG_INFINITY, step, merge: larger, finish: narrow });
            }
            ReduceOp::Min => {
                let step = |a, x: f32| smaller(a, f64::from(x));
                plan.run(worker, io, Fold { init: f64::INFINITY, step, merge: smaller, finish: narrow });
            }
            ReduceOp::Prod => {
                let step = |a: f64, x: f32| a * f64::from(x);
                plan.run(worker, io, Fold { init: 1.0, step, merge: |a, b| a * b, finish: narrow });
            }
        }
    }

    fn integers<T: Integer>(&self, worker: &Worker<'_>, io: &Io<'_>) {
        let plan = &self.plan;
        let n = plan.reduced_len().max(1) as i64;
        let sum = |a: i64, x: T| a.wrapping_add(x.wide());
        let squares = |a: f64, x: T| a + x.wide() as f64 * x.wide() as f64;
        match self.op {
            ReduceOp::L1 => {
                let step = |a: i64, x: T| a.wrapping_add(x.wide().wrapping_abs());
                plan.run(worker, io, integer_sum(step, T::narrow));
            }
            ReduceOp::L2 => plan.run(worker, io, real_sum(squares, |a| T::from_real(a.sqrt()))),
            ReduceOp::LogSum => {
                plan.run(worker, io, real_sum(|a, x: T| a + x.wide() as f64, |a| T::from_real(a.ln())));
            }
            ReduceOp::Mean => plan.run(worker, io, integer_sum(sum, move |a| T::narrow(a.wrapping_div(n)))),
            ReduceOp::Sum => plan.run(worker, io, integer_sum(sum, T::narrow)),
            ReduceOp::LogSumExp => unreachable!("`Reduce::new` refuses it for integers"),
            ReduceOp::SumSquare => {
                let step = |a: i64, x: T| a.wrapping_add(x.wide().wrapping_mul(x.wide()));
                plan.run(worker, io, integer_sum(step, T::narrow));
            }
            ReduceOp::Max => {
                let step = |a: i64, x: T| a.max(x.wide());
                plan.run(worker, io, Fold { init: T::SMALLEST, step, merge: i64::max, finish: T::narrow });
            }
            ReduceOp::Min => {
                let step = |a: i64, x: T| a.min(x.wide());
                plan.run(worker, io, Fold { init: T::LARGEST, step, merge: i64::min, finish: T::narrow });
            }
            ReduceOp::Prod => {
                let step = |a: i64, x: T| a.wrapping_mul(x.wide());
                plan.run(worker, io, Fold { init: 1, step, merge: i64::wrapping_mul, finish: T::narrow });
            }
        }
    }
}

/// A reduction as a fold: elements `X` step into accumulators `A`, which merge, and finish as elements.
#[derive(Clone, Copy)]
struct Fold<A, Step, Merge, Finish> {
    init: A,
    step: Step,
    merge: Merge,
    finish: Finish,
}

fn real_sum<X, Step: Fn(f64, X) -> f64, Finish: Fn(f64) -> X>(
    step: Step,
    finish: Finish,
) -> Fold<f64, Step, impl Fn(f64, f64) -> f64, Finish> {
    Fold { init: 0.0, step, merge: |a, b| a + b, finish }
}

fn integer_sum<X, Step: Fn(i64, X) -> i64, Finish: Fn(i64) -> X>(
    step: Step,
    finish: Finish,
) -> Fold<i64, Step, impl Fn(i64, i64) -> i64, Finish> {
    Fold { init: 0, step, merge: i64::wrapping_add, finish }
}

/// NaN if either is NaN.
#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if b > a || b.is_nan() { b } else { a }
}

/// NaN if either is NaN.
#[inline(always)]
fn smaller(a: f64, b: f64) -> f64 {
    if b < a || b.is_nan() { b } else { a }
}

/// `exp(max) * sum`, the running value of a sum of exponentials that cannot overflow.
#[derive(Clone, Copy)]
struct LogSumExp {
    max: f64,
    sum: f64,
}

impl LogSumExp {
    const EMPTY: Self = Self { max: f64::NEG_INFINITY, sum: 0.0 };

    fn merge(self, other: Self) -> Self {
        let max = larger(self.max, other.max);
        // An infinite maximum would not survive the subtraction.
        let scaled = |part: Self| if part.max == max { part.sum } else { part.sum * (part.max - max).exp() };
        Self { max, sum: scaled(self) + scaled(other) }
    }
}

trait Integer: Element {
    const SMALLEST: i64;
    const LARGEST: i64;
    fn wide(self) -> i64;
    /// Keeps the low bits.
    fn narrow(wide: i64) -> Self;
    fn from_real(real: f64) -> Self;
}

macro_rules! integers {
    ($($t:ty)*) => { $(
        impl Integer for $t {
            const SMALLEST: i64 = <$t>::MIN as i64;
            const LARGEST: i64 = <$t>::MAX as i64;
            #[inline(always)]
            fn wide(self) -> i64 { self.into() }
            #[inline(always)]
            fn narrow(wide: i64) -> Self { wide as $t }
            fn from_real(real: f64) -> Self { real as $t }
        }
    )* };
}
integers!(i8 u8 i32 i64);

impl fmt::Display for Reduce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "reduce_{} {} {}", format!("{:?}", self.op).to_lowercase(), self.dtype, self.plan)
    }
}

impl Driver for Reduce {
    fn scratch(&self) -> usize {
        match self.dtype {
            DType::F32 if !self.plan.reduces_rows => vectors::STAGE * size_of::<f32>(),
            _ => 0,
        }
    }

    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, scratch: &mut [u8]) -> Result<(), RunError> {
        match self.dtype {
            DType::F32 => self.floats(worker, io, scratch),
            DType::I32 => self.integers::<i32>(worker, io),
            DType::I64 => self.integers::<i64>(worker, io),
            DType::I8 => self.integers::<i8>(worker, io),
            _ => self.integers::<u8>(worker, io),
        }
        Ok(())
    }
}
