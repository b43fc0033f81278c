use std::fmt;

use super::number::{Number, is_number, with_number};
use super::width::grain;
use crate::driver::{Driver, RunError};
use crate::host::vectorised;
use crate::rt::Worker;
use crate::tape::Io;
use crate::tensor::DType;
use crate::ukr::unary_f32::Function;
use crate::vector;

/// `y = min(max(x, low), high)`; inputs: `x` of `len` elements, then `low` and `high`, one element each, as far as there
/// are. An absent bound is the smallest or largest finite value of the dtype. `high` wins over a larger `low`. NaN in `x`
/// stays NaN; a bound that is NaN bounds nothing.
pub struct Clip {
    dtype: DType,
    len: usize,
    has_low: bool,
    has_high: bool,
}

impl Clip {
    /// # Panics
    /// When `dtype` is not [supported](Self::supports).
    pub fn new(dtype: DType, len: usize, has_low: bool, has_high: bool) -> Self {
        assert!(Self::supports(dtype), "clip of {dtype}");
        Self { dtype, len, has_low, has_high }
    }

    /// f32 and the integers.
    pub fn supports(dtype: DType) -> bool {
        is_number(dtype)
    }

    fn compute<T: Number>(&self, worker: &Worker<'_>, io: &Io<'_>) -> Result<(), RunError> {
        let bound = |present: bool, index: usize, default: T| match present.then(|| io.input::<T>(index)) {
            None => Ok(default),
            Some(&[bound]) => Ok(bound),
            Some(_) => Err(RunError::Data("a bound of the clip is not one element".into())),
        };
        let low = bound(self.has_low, 1, T::LOWEST)?;
        let high = bound(self.has_high, 1 + usize::from(self.has_low), T::HIGHEST)?;
        let share = worker.share(self.len, grain(size_of::<T>()));
        // SAFETY: shares of ranks are disjoint.
        let y = unsafe { io.output::<T>(0).range(share.clone()) };
        let x = &io.input::<T>(0)[share];
        if self.dtype == DType::F32 {
            let bounds = [low, high].map(|bound| bytemuck::cast(bound));
            if let Some(clip) = vector::Unary::new(worker, Function::Clip, bounds) {
                clip.map(bytemuck::cast_slice(x), bytemuck::cast_slice_mut(y));
                return Ok(());
            }
        }
        vectorised(
            #[inline(always)]
            || {
                for (y, &x) in y.iter_mut().zip(x) {
                    let above = if x < low { low } else { x };
                    *y = if above > high { high } else { above };
                }
            },
        );
        Ok(())
    }
}

impl fmt::Display for Clip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "clip {} len={} low={} high={}", self.dtype, self.len, self.has_low, self.has_high)
    }
}

impl Driver for Clip {
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        with_number!(self.dtype, T => self.compute::<T>(worker, io))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::Element;
    use crate::testing::run_one;

    fn run<T: Element>(x: &[T], low: Option<T>, high: Option<T>) -> Vec<T> {
        let driver = Clip::new(T::DTYPE, x.len(), low.is_some(), high.is_some());
        let bounds = [low, high];
        let bounds = bounds.iter().flatten().map(bytemuck::bytes_of);
        let inputs: Vec<&[u8]> = std::iter::once(bytemuck::cast_slice(x)).chain(bounds).collect();
        run_one(driver, 2, &inputs, x.len()).unwrap()
    }

    #[test]
    fn each_bound_may_be_absent() {
        let x: Vec<i32> = (-20..21).collect();
        let want = |low: i32, high: i32| -> Vec<i32> { x.iter().map(|&x| x.max(low).min(high)).collect() };
        assert_eq!(run(&x, Some(-3), Some(7)), want(-3, 7));
        assert_eq!(run(&x, Some(-3), None), want(-3, i32::MAX));
        assert_eq!(run(&x, None, Some(7)), want(i32::MIN, 7));
        assert_eq!(run(&x, None, None), x);
        assert_eq!(run(&x, Some(9), Some(4)), [4; 41], "the upper bound wins");
    }

    #[test]
    fn every_number_type() {
        assert_eq!(run(&[0u8, 9, 255], Some(3), Some(200)), [3, 9, 200]);
        assert_eq!(run(&[i8::MIN, 0, 127], Some(-1), Some(1)), [-1, 0, 1]);
        assert_eq!(run(&[0u64, u64::MAX], None, Some(1 << 63)), [0, 1 << 63]);
        assert_eq!(run(&[i64::MIN, i64::MAX], Some(-1 << 40), Some(1 << 40)), [-1 << 40, 1 << 40]);
        assert_eq!(run::<u16>(&[], Some(1), None), [0u16; 0]);
    }

    #[test]
    fn nan_and_infinity() {
        let got = run(&[f32::NAN, -5.0, 9.0, f32::INFINITY], Some(0.0), Some(3.0));
        assert!(got[0].is_nan());
        assert_eq!(got[1..], [0.0, 3.0, 3.0]);
        assert_eq!(run(&[-5.0, 9.0], Some(f32::NAN), Some(3.0)), [-5.0, 3.0]);
        assert_eq!(run(&[f32::NEG_INFINITY, f32::INFINITY], None, None), [f32::MIN, f32::MAX]);
    }

    #[test]
    fn a_bound_of_no_element_is_an_error() {
        let inputs: [&[u8]; 2] = [bytemuck::cast_slice(&[1f32]), &[]];
        let result = run_one::<f32>(Clip::new(DType::F32, 1, true, false), 1, &inputs, 1);
        assert!(matches!(result, Err(RunError::Data(_))));
    }
}
