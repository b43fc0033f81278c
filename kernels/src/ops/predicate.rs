use std::fmt;

use super::width::grain;
use crate::driver::{Driver, RunError};
use crate::host::vectorised;
use crate::rt::Worker;
use crate::tape::Io;

/// A question about one element; the answer is a bool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PredicateOp {
    /// Of an f32.
    IsNan,
    /// Of an f32: whether it is one of the infinities asked for.
    IsInf { negative: bool, positive: bool },
    /// Of a bool.
    Not,
}

/// `y = op(x)` on `len` elements; one input, one bool output.
pub struct Predicate {
    op: PredicateOp,
    len: usize,
}

impl Predicate {
    pub fn new(op: PredicateOp, len: usize) -> Self {
        Self { op, len }
    }
}

impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} len={}", format!("{:?}", self.op).to_lowercase(), self.len)
    }
}

impl Driver for Predicate {
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        let share = worker.share(self.len, grain(size_of::<f32>()));
        // SAFETY: shares of ranks are disjoint.
        let y = unsafe { io.output::<u8>(0).range(share.clone()) };
        match self.op {
            PredicateOp::IsNan => ask(&io.input(0)[share], y, f32::is_nan),
            PredicateOp::IsInf { negative, positive } => ask(&io.input(0)[share], y, |x: f32| {
                (positive & (x == f32::INFINITY)) | (negative & (x == f32::NEG_INFINITY))
            }),
            PredicateOp::Not => ask(&io.input(0)[share], y, |x: u8| x == 0),
        }
        Ok(())
    }
}

fn ask<T: Copy>(x: &[T], y: &mut [u8], f: impl Fn(T) -> bool) {
    vectorised(
        #[inline(always)]
        || y.iter_mut().zip(x).for_each(|(y, &x)| *y = f(x).into()),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::Element;
    use crate::testing::run_one;

    fn run<T: Element>(op: PredicateOp, x: &[T]) -> Vec<u8> {
        run_one(Predicate::new(op, x.len()), 2, &[bytemuck::cast_slice(x)], x.len()).unwrap()
    }

    #[test]
    fn answers() {
        let x = [1.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, f32::MAX, -f32::NAN];
        assert_eq!(run(PredicateOp::IsNan, &x), [0, 1, 0, 0, 0, 0, 1]);
        let is_inf = |negative, positive| run(PredicateOp::IsInf { negative, positive }, &x);
        assert_eq!(is_inf(true, true), [0, 0, 1, 1, 0, 0, 0]);
        assert_eq!(is_inf(false, true), [0, 0, 1, 0, 0, 0, 0]);
        assert_eq!(is_inf(true, false), [0, 0, 0, 1, 0, 0, 0]);
        assert_eq!(is_inf(false, false), [0; 7]);
        assert_eq!(run(PredicateOp::Not, &[0u8, 1, 7]), [1, 0, 0]);
        let long: Vec<f32> = (0..30_000).map(|i| if i % 3 == 0 { f32::NAN } else { i as f32 }).collect();
        assert!(run(PredicateOp::IsNan, &long).iter().enumerate().all(|(i, &y)| y == u8::from(i % 3 == 0)));
    }
}
