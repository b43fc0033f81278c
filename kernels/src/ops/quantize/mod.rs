//! Linear quantisation: `q = saturate(round_half_even(x / scale) + zero_point)` and back.

mod dequantize;
mod dynamic;
mod linear;
mod requantize;

use crate::tensor::Element;

pub use dequantize::DequantizeLinear;
pub use dynamic::{DynamicQuantize, MinMax};
pub use linear::QuantizeLinear;
pub use requantize::Requantize;

/// Which elements of a tensor share a scale and a zero point.
///
/// The tensor is `[outer, axis, inner]`, row-major.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Groups {
    pub outer: usize,
    pub axis: usize,
    pub inner: usize,
    pub per: Granularity,
}

/// How many scales a tensor has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granularity {
    /// One.
    Tensor,
    /// One for each index of the axis.
    Axis,
    /// One for each block of so many indices of the axis, at each outer and inner index:
    /// `[outer, ceil(axis / block), inner]`.
    Block(usize),
}

impl Groups {
    /// One scale for `len` elements.
    pub fn tensor(len: usize) -> Self {
        Self { outer: 1, axis: 1, inner: len, per: Granularity::Tensor }
    }

    /// Elements of the tensor.
    pub fn len(&self) -> usize {
        self.outer * self.axis * self.inner
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Scales of the tensor.
    pub fn scales(&self) -> usize {
        match self.per {
            Granularity::Tensor => 1,
            Granularity::Axis => self.axis,
            Granularity::Block(block) => self.outer * self.axis.div_ceil(block) * self.inner,
        }
    }

    /// Calls `f(first element, elements, first scale, step of the scale)` for the runs that make up the elements
    /// `first..end`. Element `i` of a run has the scale `first scale + i * step`; the step is 0 or 1.
    fn runs(&self, range: std::ops::Range<usize>, mut f: impl FnMut(usize, usize, usize, usize)) {
        let mut at = range.start;
        while at < range.end {
            let (row, inside) = (at / self.inner, at % self.inner);
            let (outer, index) = (row / self.axis, row % self.axis);
            let (len, scale, step) = match self.per {
                Granularity::Tensor => (range.end - at, 0, 0),
                Granularity::Axis if self.inner == 1 => (self.axis - index, index, 1),
                Granularity::Axis => (self.inner - inside, index, 0),
                Granularity::Block(block) if self.inner == 1 => {
                    let group = outer * self.axis.div_ceil(block) + index / block;
                    ((index / block + 1).saturating_mul(block).min(self.axis) - index, group, 0)
                }
                Granularity::Block(block) => {
                    let group = outer * self.axis.div_ceil(block) + index / block;
                    (self.inner - inside, group * self.inner + inside, 1)
                }
            };
            let len = len.min(range.end - at);
            f(at, len, scale, step);
            at += len;
        }
    }
}

impl std::fmt::Display for Groups {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.per {
            Granularity::Tensor => write!(f, "n={}", self.len()),
            Granularity::Axis => write!(f, "[{} {} {}] per axis", self.outer, self.axis, self.inner),
            Granularity::Block(block) => write!(f, "[{} {} {}] block={block}", self.outer, self.axis, self.inner),
        }
    }
}

/// An integer that stands for a real number.
pub(crate) trait Quantized: Element {
    const MIN: i32;
    const MAX: i32;
    fn from_i32(x: i32) -> Self;
    fn to_i32(self) -> i32;
}

macro_rules! quantized {
    ($($t:ty),*) => { $(impl Quantized for $t {
        const MIN: i32 = <$t>::MIN as i32;
        const MAX: i32 = <$t>::MAX as i32;
        fn from_i32(x: i32) -> Self {
            x as $t
        }
        fn to_i32(self) -> i32 {
            self as i32
        }
    })* };
}
quantized!(u8, i8, u16, i16, i32);

#[cfg(test)]
mod tests;
