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
use crate::ukr::compare_f32::Relation;
use crate::vector;

/// A comparison or a logical operation; the result is a bool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareOp {
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    /// Of bools only, as are `Or` and `Xor`.
    And,
    Or,
    Xor,
}

/// `y = op(a, b)` with NumPy broadcasting; inputs `a`, `b` of one dtype, one bool output. Comparisons with NaN are false.
pub struct Compare {
    op: CompareOp,
    dtype: DType,
    plan: Broadcast<2>,
}

impl Compare {
    /// Operands of dims `a` and `b`.
    ///
    /// # Panics
    /// When the dims do not broadcast or `dtype` is not [supported](Self::supports).
    pub fn new(op: CompareOp, dtype: DType, a: &[usize], b: &[usize]) -> Self {
        assert!(Self::supports(op, dtype), "{op:?} on {dtype}");
        Self { op, dtype, plan: Broadcast::new([a, b]) }
    }

    /// Comparisons work on f32 and the integers, `Equal` and the logical operations on bools.
    pub fn supports(op: CompareOp, dtype: DType) -> bool {
        match op {
            CompareOp::And | CompareOp::Or | CompareOp::Xor => dtype == DType::Bool,
            CompareOp::Equal => is_number(dtype) || dtype == DType::Bool,
            _ => is_number(dtype),
        }
    }

    fn compute<T: Number>(&self, worker: &Worker<'_>, io: &Io<'_>) {
        let share = worker.share(self.plan.len(), grain(size_of::<T>()));
        let (a, b) = (io.input::<T>(0), io.input::<T>(1));
        // SAFETY: shares of ranks are disjoint.
        let y = unsafe { io.output::<u8>(0).range(share.clone()) };
        if self.dtype == DType::F32
            && let Some((relation, swaps)) = self.op.relation()
            && self.plan.repeats() != [true, true]
            && let Some(vectors) = vector::Compare::new(worker, relation)
        {
            let (a, b) = (bytemuck::cast_slice(a), bytemuck::cast_slice(b));
            return self.compare_in_vectors(&vectors, swaps, share, [a, b], y);
        }
        let truth = |x: T| x != T::ZERO;
        vectorised(
            #[inline(always)]
            || match self.op {
                CompareOp::Equal => self.plan.map(share, a, b, y, |a, b| u8::from(a == b)),
                CompareOp::Less => self.plan.map(share, a, b, y, |a, b| u8::from(a < b)),
                CompareOp::LessOrEqual => self.plan.map(share, a, b, y, |a, b| u8::from(a <= b)),
                CompareOp::Greater => self.plan.map(share, a, b, y, |a, b| u8::from(a > b)),
                CompareOp::GreaterOrEqual => self.plan.map(share, a, b, y, |a, b| u8::from(a >= b)),
                CompareOp::And => self.plan.map(share, a, b, y, |a, b| u8::from(truth(a) & truth(b))),
                CompareOp::Or => self.plan.map(share, a, b, y, |a, b| u8::from(truth(a) | truth(b))),
                CompareOp::Xor => self.plan.map(share, a, b, y, |a, b| u8::from(truth(a) ^ truth(b))),
            },
        );
    }
}

impl Compare {
    fn compare_in_vectors(
        &self,
        vectors: &vector::Compare<'_>,
        swaps: bool,
        share: Range<usize>,
        [a, b]: [&[f32]; 2],
        y: &mut [u8],
    ) {
        let [a_repeats, b_repeats] = self.plan.repeats();
        self.plan.for_each_row(share, |row, [i, j]| {
            let len = |repeats: bool| if repeats { 1 } else { row.len() };
            let (a, b) = (&a[i..i + len(a_repeats)], &b[j..j + len(b_repeats)]);
            let (first, second) = if swaps { (b, a) } else { (a, b) };
            vectors.map(first, second, &mut y[row.clone()]);
        });
    }
}

impl CompareOp {
    /// The relation of f32 that this is, and whether its operands change places.
    fn relation(self) -> Option<(Relation, bool)> {
        match self {
            CompareOp::Equal => Some((Relation::Equal, false)),
            CompareOp::Less => Some((Relation::Less, false)),
            CompareOp::LessOrEqual => Some((Relation::LessOrEqual, false)),
            CompareOp::Greater => Some((Relation::Less, true)),
            CompareOp::GreaterOrEqual => Some((Relation::LessOrEqual, true)),
            CompareOp::And | CompareOp::Or | CompareOp::Xor => None,
        }
    }
}

impl fmt::Display for Compare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = format!("{:?}", self.op).to_lowercase();
        write!(f, "{name} {} dims={:?}", self.dtype, self.plan.dims())
    }
}

impl Driver for Compare {
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        with_number!(self.dtype, T => self.compute::<T>(worker, io));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::broadcast::{PAIRS, reference_offsets};
    use crate::tensor::Element;
    use crate::testing::run_one;
    use CompareOp::*;

    fn check<T: Element>(op: CompareOp, dtype: DType, values: &[T], f: impl Fn(T, T) -> bool) {
        for &(a_dims, b_dims) in PAIRS {
            let cycle = |dims: &[usize], step: usize| -> Vec<T> {
                (0..dims.iter().product()).map(|i: usize| values[i * step % values.len()]).collect()
            };
            let (a, b) = (cycle(a_dims, 1), cycle(b_dims, 2));
            let offsets = reference_offsets([a_dims, b_dims]);
            let want: Vec<u8> = offsets.iter().map(|&[i, j]| u8::from(f(a[i], b[j]))).collect();
            for ranks in 1..=3 {
                let driver = Compare::new(op, dtype, a_dims, b_dims);
                let inputs = [bytemuck::cast_slice(&a), bytemuck::cast_slice(&b)];
                let got: Vec<u8> = run_one(driver, ranks, &inputs, want.len()).unwrap();
                assert_eq!(got, want, "{op:?} {dtype} {a_dims:?} {b_dims:?}");
            }
        }
    }

    fn check_order<T: Element + PartialOrd>(values: &[T]) {
        check(Equal, T::DTYPE, values, |a, b| a == b);
        check(Less, T::DTYPE, values, |a, b| a < b);
        check(LessOrEqual, T::DTYPE, values, |a, b| a <= b);
        check(Greater, T::DTYPE, values, |a, b| a > b);
        check(GreaterOrEqual, T::DTYPE, values, |a, b| a >= b);
    }

    #[test]
    fn numbers_compare() {
        check_order::<f32>(&[1.0, -0.0, f32::NAN, 0.0, f32::INFINITY, 1.0, f32::NEG_INFINITY]);
        check_order::<i64>(&[i64::MIN, 0, 5, i64::MAX, 5]);
        check_order::<u64>(&[0, 1 << 63, u64::MAX]);
        check_order::<i8>(&[-128, 127, 0]);
        check_order::<i32>(&[3, -4, 3, 9, i32::MIN]);
    }

    #[test]
    fn bools_combine() {
        // Any byte other than 0 counts as true.
        let values = [0u8, 1, 1, 0, 2];
        check(And, DType::Bool, &values, |a, b| a != 0 && b != 0);
        check(Or, DType::Bool, &values, |a, b| a != 0 || b != 0);
        check(Xor, DType::Bool, &values, |a, b| (a != 0) != (b != 0));
        check(Equal, DType::Bool, &values[..4], |a, b| a == b);
    }

    #[test]
    fn support_is_by_dtype() {
        assert!(!Compare::supports(And, DType::I32) && !Compare::supports(Less, DType::Bool));
        assert!(!Compare::supports(Equal, DType::F16) && Compare::supports(Equal, DType::U16));
    }
}
