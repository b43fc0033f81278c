use std::fmt;

use half::f16;

use super::width::grain;
use crate::driver::{Driver, RunError};
use crate::host::vectorised;
use crate::rt::Worker;
use crate::tape::Io;
use crate::tensor::{DType, Element};

/// Converts `len` elements from one dtype to another; one input, one output.
///
/// - to bool: whether the element differs from 0, so NaN is true;
/// - integer to integer: keeps the low bits;
/// - float to integer: towards zero. A value out of range and NaN give what the conversion instructions of x86-64 give:
///   the smallest i32 or i64, of which narrower types keep the low bits;
/// - to float: nearest, ties to even. f64 and integers reach f16 by way of f32.
pub struct Cast {
    from: DType,
    to: DType,
    len: usize,
}

impl Cast {
    /// # Panics
    /// When a dtype is not [supported](Self::supports).
    pub fn new(from: DType, to: DType, len: usize) -> Self {
        assert!(Self::supports(from) && Self::supports(to), "cast of {from} to {to}");
        Self { from, to, len }
    }

    /// All types of whole bytes but bf16.
    pub fn supports(dtype: DType) -> bool {
        dtype != DType::BF16 && !dtype.is_nibble()
    }

    fn convert<X: Source, Y: Element>(&self, worker: &Worker<'_>, io: &Io<'_>, f: impl Fn(X) -> Y) {
        let share = worker.share(self.len, grain(size_of::<X>().max(size_of::<Y>())));
        // SAFETY: shares of ranks are disjoint.
        let y = unsafe { io.output::<Y>(0).range(share.clone()) };
        let x = &io.input::<X>(0)[share];
        vectorised(
            #[inline(always)]
            || y.iter_mut().zip(x).for_each(|(y, &x)| *y = f(x)),
        );
    }
}

/// A type to convert from.
trait Source: Element + PartialEq {
    fn to<Y: Destination>(self) -> Y;
}

/// A type to convert to, from the widest type of each kind.
trait Destination: Element {
    fn from_i64(x: i64) -> Self;
    fn from_u64(x: u64) -> Self;
    fn from_f64(x: f64) -> Self;
}

macro_rules! sources {
    ($($t:ty: $wide:ty, $method:ident);* $(;)?) => { $(
        impl Source for $t {
            #[inline(always)]
            fn to<Y: Destination>(self) -> Y {
                Y::$method(<$wide>::from(self))
            }
        }
    )* };
}
sources! {
    i8: i64, from_i64; i16: i64, from_i64; i32: i64, from_i64; i64: i64, from_i64;
    u8: u64, from_u64; u16: u64, from_u64; u32: u64, from_u64; u64: u64, from_u64;
    f16: f64, from_f64; f32: f64, from_f64; f64: f64, from_f64;
}

macro_rules! destinations {
    ($($t:ty: $real:expr);* $(;)?) => { $(
        impl Destination for $t {
            #[inline(always)]
            fn from_i64(x: i64) -> Self { x as $t }
            #[inline(always)]
            fn from_u64(x: u64) -> Self { x as $t }
            #[inline(always)]
            fn from_f64(x: f64) -> Self { $real(x) as $t }
        }
    )* };
}
destinations! {
    i8: to_i32; u8: to_i32; i16: to_i32; u16: to_i32; i32: to_i32; u32: to_u32; i64: to_i64; u64: to_u64;
    f32: std::convert::identity; f64: std::convert::identity;
}

impl Destination for f16 {
    #[inline(always)]
    fn from_i64(x: i64) -> Self {
        f16::from_f32(x as f32)
    }
    #[inline(always)]
    fn from_u64(x: u64) -> Self {
        f16::from_f32(x as f32)
    }
    #[inline(always)]
    fn from_f64(x: f64) -> Self {
        f16::from_f32(x as f32)
    }
}

const TWO_31: f64 = (1u64 << 31) as f64;
const TWO_63: f64 = (1u64 << 63) as f64;

#[inline(always)]
fn to_i32(x: f64) -> i32 {
    if (-TWO_31..TWO_31).contains(&x) { x as i32 } else { i32::MIN }
}

#[inline(always)]
fn to_i64(x: f64) -> i64 {
    if (-TWO_63..TWO_63).contains(&x) { x as i64 } else { i64::MIN }
}

/// The upper half of the range by way of the signed type, as compilers do it.
#[inline(always)]
fn to_u32(x: f64) -> u32 {
    if x >= TWO_31 { to_i32(x - TWO_31) as u32 ^ 1 << 31 } else { to_i32(x) as u32 }
}

#[inline(always)]
fn to_u64(x: f64) -> u64 {
    if x >= TWO_63 { to_i64(x - TWO_63) as u64 ^ 1 << 63 } else { to_i64(x) as u64 }
}

/// Evaluates `$body` with `$t` standing for the element type of `$dtype`, `u8` for bools.
macro_rules! with_element {
    ($dtype:expr, $t:ident => $body:expr) => {
        with_element!(@ $dtype, $t, $body, F16 f16, F32 f32, F64 f64, I8 i8, U8 u8, Bool u8, I16 i16, U16 u16, I32 i32,
            U32 u32, I64 i64, U64 u64)
    };
    (@ $dtype:expr, $t:ident, $body:expr, $($name:ident $type:ty),*) => {
        match $dtype {
            $(DType::$name => {
                type $t = $type;
                $body
            })*
            DType::BF16 | DType::I4 | DType::U4 => unreachable!("`Cast::new` refuses {}", $dtype),
        }
    };
}

impl fmt::Display for Cast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cast {} to {} len={}", self.from, self.to, self.len)
    }
}

impl Driver for Cast {
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        with_element!(self.from, X => match self.to {
            DType::Bool => self.convert(worker, io, |x: X| u8::from(x != <X as bytemuck::Zeroable>::zeroed())),
            to => with_element!(to, Y => self.convert(worker, io, |x: X| x.to::<Y>())),
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::run_one;

    fn cast<X: Element, Y: Element>(x: &[X]) -> Vec<Y> {
        run_one(Cast::new(X::DTYPE, Y::DTYPE, x.len()), 2, &[bytemuck::cast_slice(x)], x.len()).unwrap()
    }

    #[test]
    fn floats_truncate_and_leave_the_range_as_on_x86() {
        let x = [-1.5, 300.7, f32::NAN, 3e9, -3e9, 1e20, f32::INFINITY, f32::NEG_INFINITY];
        let min = i32::MIN;
        assert_eq!(cast::<f32, i8>(&x), [-1, 44, 0, 0, 0, 0, 0, 0]);
        assert_eq!(cast::<f32, u8>(&x), [255, 44, 0, 0, 0, 0, 0, 0]);
        assert_eq!(cast::<f32, u16>(&x), [65535, 300, 0, 0, 0, 0, 0, 0]);
        assert_eq!(cast::<f32, i32>(&x), [-1, 300, min, min, min, min, min, min]);
        assert_eq!(cast::<f32, u32>(&x), [u32::MAX, 300, 1 << 31, 3_000_000_000, 1 << 31, 0, 0, 1 << 31]);
        let min = i64::MIN;
        assert_eq!(cast::<f32, i64>(&x), [-1, 300, min, 3_000_000_000, -3_000_000_000, min, min, min]);
        let minus = |x: i64| x as u64;
        assert_eq!(cast::<f32, u64>(&x)[..5], [minus(-1), 300, 1 << 63, 3_000_000_000, minus(-3_000_000_000)]);
        assert_eq!(cast::<f64, i32>(&[2147483647.9, -2147483648.9, 2147483648.0]), [i32::MAX, i32::MIN, i32::MIN]);
        let halves = [-1.5, 300.5, f32::INFINITY].map(f16::from_f32);
        assert_eq!(cast::<f16, i32>(&halves), [-1, 300, i32::MIN]);
    }

    #[test]
    fn integers_keep_their_low_bits() {
        assert_eq!(cast::<i64, i8>(&[300, -1, i64::MIN]), [44, -1, 0]);
        assert_eq!(cast::<i32, u64>(&[-1, 7]), [u64::MAX, 7]);
        assert_eq!(cast::<u64, i64>(&[u64::MAX, 7]), [-1, 7]);
        assert_eq!(cast::<u8, i32>(&[255, 0]), [255, 0]);
        assert_eq!(cast::<i8, u16>(&[-1, 5]), [u16::MAX, 5]);
    }

    #[test]
    fn integers_become_the_nearest_float() {
        assert_eq!(cast::<i64, f32>(&[16_777_217, i64::MIN, -3]), [16_777_216.0, i64::MIN as f32, -3.0]);
        assert_eq!(cast::<u64, f32>(&[u64::MAX, 1 << 63]), [18_446_744_073_709_551_616.0, 9_223_372_036_854_775_808.0]);
        assert_eq!(
            cast::<i64, f16>(&[2049, 65_520, -70_000]),
            [2048.0, f32::INFINITY, f32::NEG_INFINITY].map(f16::from_f32)
        );
        assert_eq!(cast::<i32, f64>(&[i32::MIN]), [-2_147_483_648.0]);
    }

    #[test]
    fn floats_round_once_and_f64_reaches_f16_by_f32() {
        assert_eq!(cast::<f64, f32>(&[1e-50, 1e300, 0.1]), [0.0, f32::INFINITY, 0.1]);
        // Above half way between two f16 by less than f32 can hold: f32 makes it a tie, which goes to even.
        assert_eq!(cast::<f64, f16>(&[1.0 + 2f64.powi(-11) + 2f64.powi(-40)]), [f16::ONE]);
        assert_eq!(cast::<f16, f64>(&[f16::from_f32(0.1)]), [f16::from_f32(0.1).to_f64()]);
        let all: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).filter(|x| !x.is_nan()).collect();
        assert_eq!(cast::<f32, f16>(&cast::<f16, f32>(&all)), all);
    }

    #[test]
    fn bool_is_anything_but_zero() {
        fn to_bool<X: Element>(x: &[X]) -> Vec<u8> {
            run_one(Cast::new(X::DTYPE, DType::Bool, x.len()), 2, &[bytemuck::cast_slice(x)], x.len()).unwrap()
        }
        assert_eq!(to_bool(&[0.0, -0.0, f32::NAN, 0.1, 1e-45]), [0, 0, 1, 1, 1]);
        assert_eq!(to_bool(&[f16::NEG_ZERO, f16::MIN_POSITIVE]), [0, 1]);
        assert_eq!(to_bool(&[256i64, 0, -1]), [1, 0, 1]);
        let from_bool = run_one::<f32>(Cast::new(DType::Bool, DType::F32, 2), 1, &[&[0, 1]], 2);
        assert_eq!(from_bool.unwrap(), [0.0, 1.0]);
    }

    #[test]
    fn every_pair_keeps_small_numbers() {
        let types = [DType::F16, DType::F32, DType::F64, DType::I8, DType::U8, DType::I16, DType::U16, DType::I32]
            .into_iter()
            .chain([DType::U32, DType::I64, DType::U64]);
        let run = |from: DType, to: DType, x: &[u64]| -> Vec<u64> {
            let mut words = vec![0u64; 40];
            let bytes = &bytemuck::cast_slice(x)[..40 * from.size()];
            let out: Vec<u8> = run_one(Cast::new(from, to, 40), 3, &[bytes], 40 * to.size()).unwrap();
            bytemuck::cast_slice_mut(&mut words)[..out.len()].copy_from_slice(&out);
            words
        };
        let numbers: Vec<u64> = (0..40).collect();
        for from in types.clone() {
            let x = run(DType::U64, from, &numbers);
            for to in types.clone() {
                assert_eq!(run(to, DType::U64, &run(from, to, &x)), numbers, "{from} to {to}");
            }
        }
    }
}
