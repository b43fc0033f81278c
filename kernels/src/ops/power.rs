use std::fmt;

use super::broadcast::Broadcast;
use super::number::Number;
use super::width::grain;
use crate::driver::{Driver, RunError};
use crate::host::vectorised;
use crate::rt::Worker;
use crate::tape::Io;
use crate::tensor::DType;

/// `y = base ^ exponent` with NumPy broadcasting; base and exponent may differ in dtype, the output has the base's.
///
/// Integers to non-negative integers are exact and wrap on overflow. Every other mixture is computed in f64 and
/// converted: towards zero for an integer base, whose out-of-range results saturate.
pub struct Power {
    base: DType,
    exponent: DType,
    plan: Broadcast<2>,
}

impl Power {
    /// # Panics
    /// When the dims do not broadcast or a dtype is not [supported](Self::supports).
    pub fn new(base: DType, exponent: DType, base_dims: &[usize], exponent_dims: &[usize]) -> Self {
        assert!(Self::supports(base) && Self::supports(exponent), "power of {base} to {exponent}");
        Self { base, exponent, plan: Broadcast::new([base_dims, exponent_dims]) }
    }

    /// f32, i32 and i64.
    pub fn supports(dtype: DType) -> bool {
        matches!(dtype, DType::F32 | DType::I32 | DType::I64)
    }

    fn compute<A: Base<E>, E: Number>(&self, worker: &Worker<'_>, io: &Io<'_>) {
        let share = worker.share(self.plan.len(), grain(16 * size_of::<A>()));
        let (a, e) = (io.input::<A>(0), io.input::<E>(1));
        // SAFETY: shares of ranks are disjoint.
        let y = unsafe { io.output::<A>(0).range(share.clone()) };
        // A single small exponent is what graphs have: squares of norms, cubes of the tanh Gelu.
        let product = match e {
            [e] if *e == E::ONE.add(E::ONE) => Some(1),
            [e] if *e == E::ONE.add(E::ONE).add(E::ONE) => Some(2),
            _ => None,
        };
        match product {
            Some(1) => vectorised(
                #[inline(always)]
                || self.plan.map(share, a, e, y, |a, _| a.mul(a)),
            ),
            Some(_) => vectorised(
                #[inline(always)]
                || self.plan.map(share, a, e, y, |a, _| a.mul(a).mul(a)),
            ),
            None => self.plan.map(share, a, e, y, A::power),
        }
    }
}

trait Base<E>: Number {
    fn power(self, exponent: E) -> Self;
}

impl Base<f32> for f32 {
    fn power(self, exponent: f32) -> f32 {
        self.powf(exponent)
    }
}

macro_rules! mixed {
    ($($base:ty, $exponent:ty);*) => { $(
        impl Base<$exponent> for $base {
            fn power(self, exponent: $exponent) -> $base {
                f64::powf(self as f64, exponent as f64) as $base
            }
        }
    )* };
}
mixed!(f32, i32; f32, i64; i32, f32; i64, f32);

macro_rules! integers {
    ($($base:ty, $exponent:ty);*) => { $(
        impl Base<$exponent> for $base {
            fn power(self, exponent: $exponent) -> $base {
                if exponent < 0 {
                    return f64::powf(self as f64, exponent as f64) as $base;
                }
                let (mut result, mut square, mut rest): ($base, $base, _) = (1, self, exponent);
                while rest != 0 {
                    if rest & 1 == 1 {
                        result = result.wrapping_mul(square);
                    }
                    square = square.wrapping_mul(square);
                    rest >>= 1;
                }
                result
            }
        }
    )* };
}
integers!(i32, i32; i32, i64; i64, i32; i64, i64);

impl fmt::Display for Power {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "power {}^{} dims={:?}", self.base, self.exponent, self.plan.dims())
    }
}

impl Driver for Power {
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        match (self.base, self.exponent) {
            (DType::F32, DType::F32) => self.compute::<f32, f32>(worker, io),
            (DType::F32, DType::I32) => self.compute::<f32, i32>(worker, io),
            (DType::F32, _) => self.compute::<f32, i64>(worker, io),
            (DType::I32, DType::F32) => self.compute::<i32, f32>(worker, io),
            (DType::I32, DType::I32) => self.compute::<i32, i32>(worker, io),
            (DType::I32, _) => self.compute::<i32, i64>(worker, io),
            (_, DType::F32) => self.compute::<i64, f32>(worker, io),
            (_, DType::I32) => self.compute::<i64, i32>(worker, io),
            (_, _) => self.compute::<i64, i64>(worker, io),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::broadcast::{PAIRS, reference_offsets};
    use crate::tensor::Element;
    use crate::testing::run_one;

    fn run<A: Element, E: Element>(a: &[A], a_dims: &[usize], e: &[E], e_dims: &[usize], len: usize) -> Vec<A> {
        let driver = Power::new(A::DTYPE, E::DTYPE, a_dims, e_dims);
        run_one(driver, 2, &[bytemuck::cast_slice(a), bytemuck::cast_slice(e)], len).unwrap()
    }

    #[test]
    fn floats_agree_with_f64() {
        for &(a_dims, e_dims) in PAIRS {
            let values = |dims: &[usize], of: &[f32]| -> Vec<f32> {
                (0..dims.iter().product()).map(|i: usize| of[i % of.len()]).collect()
            };
            // A single exponent is 3 here and takes the multiplying path.
            let (a, e) = (values(a_dims, &[0.5, 2.0, -1.5, 3.25, -0.1]), values(e_dims, &[3.0, 2.0, -2.0, 0.0]));
            let offsets = reference_offsets([a_dims, e_dims]);
            for (got, [i, j]) in run(&a, a_dims, &e, e_dims, offsets.len()).into_iter().zip(offsets) {
                let want = f64::from(a[i]).powf(f64::from(e[j]));
                // Two roundings of products at most, or one unit of `powf`.
                let error = (f64::from(got) - want).abs();
                assert!(error <= 2.0 * f64::from(f32::EPSILON) * want.abs(), "{} ^ {}: {got} != {want}", a[i], e[j]);
            }
        }
    }

    #[test]
    fn special_floats() {
        let (a, e) = ([-8.0f32, 0.0, f32::NEG_INFINITY, f32::NAN, 2.0], [1.0f32 / 3.0, -1.0, 3.0, 0.0, f32::NAN]);
        let got = run(&a, &[5], &e, &[5], 5);
        assert!(got[0].is_nan() && got[4].is_nan());
        assert_eq!(got[1..4], [f32::INFINITY, f32::NEG_INFINITY, 1.0]);
    }

    #[test]
    fn integers_are_exact_and_wrap() {
        let a = [3i64, -2, 10, 7, 2, 1, -1, 5];
        let e = [39i32, 63, 19, 0, 64, -5, -3, -1];
        let want = [3i64.pow(39), i64::MIN, 10i64.pow(18).wrapping_mul(10), 1, 0, 1, -1, 0];
        assert_eq!(run(&a, &[8], &e, &[8], 8), want);
        assert_eq!(run(&[-3i32, 5, 46_341], &[3], &[2i64], &[], 3), [9, 25, 46_341i32.wrapping_mul(46_341)]);
    }

    #[test]
    fn mixed_types_keep_the_type_of_the_base() {
        assert_eq!(run(&[2i32, -2, 3, 5], &[4], &[0.5f32, 3.0, -1.0, 2.0], &[4], 4), [1, -8, 0, 25]);
        assert_eq!(run(&[2.0f32, -2.0, 4.0], &[3], &[10i64, 3, -1], &[3], 3), [1024.0, -8.0, 0.25]);
        assert_eq!(run(&[9i64], &[], &[0.5f32], &[], 1), [3]);
    }
}
