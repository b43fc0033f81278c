//! Arithmetic that every numeric element type has, with one meaning for all of them.

use crate::tensor::Element;

/// A numeric element. Integers wrap on overflow; minima and maxima of floats propagate NaN.
///
/// `div`, `rem` and `modulo` of integers panic on a zero divisor: drivers look for zeros first.
pub(crate) trait Number: Element + PartialOrd {
    const ZERO: Self;
    const ONE: Self;
    /// Smallest and largest finite value.
    const LOWEST: Self;
    const HIGHEST: Self;
    const IS_INTEGER: bool;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    /// Integers: truncates towards zero.
    fn div(self, other: Self) -> Self;
    /// Remainder with the sign of the dividend (C's `fmod` and `%`).
    fn rem(self, other: Self) -> Self;
    /// Remainder with the sign of the divisor (Python's `%`), a zero remainder included.
    fn modulo(self, other: Self) -> Self;
    fn minimum(self, other: Self) -> Self;
    fn maximum(self, other: Self) -> Self;
}

macro_rules! integers {
    ($($t:ty)*) => { $(
        impl Number for $t {
            const ZERO: Self = 0;
            const ONE: Self = 1;
            const LOWEST: Self = <$t>::MIN;
            const HIGHEST: Self = <$t>::MAX;
            const IS_INTEGER: bool = true;
            #[inline(always)]
            fn add(self, other: Self) -> Self { self.wrapping_add(other) }
            #[inline(always)]
            fn sub(self, other: Self) -> Self { self.wrapping_sub(other) }
            #[inline(always)]
            fn mul(self, other: Self) -> Self { self.wrapping_mul(other) }
            #[inline(always)]
            fn div(self, other: Self) -> Self { self.wrapping_div(other) }
            #[inline(always)]
            fn rem(self, other: Self) -> Self { self.wrapping_rem(other) }
            #[inline(always)]
            fn modulo(self, other: Self) -> Self {
                let rem = self.wrapping_rem(other);
                if rem != 0 && (rem > 0) != (other > 0) { rem.wrapping_add(other) } else { rem }
            }
            #[inline(always)]
            fn minimum(self, other: Self) -> Self { self.min(other) }
            #[inline(always)]
            fn maximum(self, other: Self) -> Self { self.max(other) }
        }
    )* };
}
integers!(i8 u8 i16 u16 i32 u32 i64 u64);

impl Number for f32 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const LOWEST: Self = f32::MIN;
    const HIGHEST: Self = f32::MAX;
    const IS_INTEGER: bool = false;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self + other
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self - other
    }
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self * other
    }
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        self / other
    }
    #[inline(always)]
    fn rem(self, other: Self) -> Self {
        self % other
    }
    #[inline(always)]
    fn modulo(self, other: Self) -> Self {
        let rem = self % other;
        if rem == 0.0 {
            0f32.copysign(other)
        } else if (rem > 0.0) != (other > 0.0) {
            rem + other
        } else {
            rem
        }
    }
    #[inline(always)]
    fn minimum(self, other: Self) -> Self {
        if self < other || self.is_nan() { self } else { other }
    }
    #[inline(always)]
    fn maximum(self, other: Self) -> Self {
        if self > other || self.is_nan() { self } else { other }
    }
}

/// Evaluates `$body` with `$t` standing for the [`Number`] type of `$dtype`, `u8` for bools.
///
/// # Panics
/// For the 16-bit and 64-bit float types, which constructors of drivers refuse.
macro_rules! with_number {
    ($dtype:expr, $t:ident => $body:expr) => {
        $crate::ops::number::with_number!(@ $dtype, $t, $body, F32 f32, I8 i8, U8 u8, Bool u8, I16 i16, U16 u16,
            I32 i32, U32 u32, I64 i64, U64 u64)
    };
    (@ $dtype:expr, $t:ident, $body:expr, $($name:ident $type:ty),*) => {
        match $dtype {
            $($crate::tensor::DType::$name => {
                type $t = $type;
                $body
            })*
            other => unreachable!("{other} is not an arithmetic type of the drivers"),
        }
    };
}
pub(crate) use with_number;

/// Whether `dtype` is one of the types of [`Number`].
pub(crate) fn is_number(dtype: crate::tensor::DType) -> bool {
    use crate::tensor::DType::*;
    !matches!(dtype, F16 | BF16 | F64 | Bool | I4 | U4)
}
