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
mod tests;
