//! Products with constant right-hand sides of 2, 4 or 8 bits, quantised in blocks.

mod driver;
mod float;
mod gated;
mod integer;
mod left;

pub use driver::MatMulNBits;
pub use gated::{Gate, GatedNBits};

pub(crate) use left::{Left, STRIP, STRIP_PANELS};

/// What products are computed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compute {
    /// Everything in f32.
    F32,
    /// `A` is rounded to int8 first, with a scale for each 32 neighbours of a row, or 16 where a block of the weight has no
    /// more: an element of `A` is off by at most 1/254 of the largest of its neighbours. The products are exact.
    Int8,
}

impl std::fmt::Display for Compute {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if *self == Compute::Int8 { "int8" } else { "f32" })
    }
}

#[cfg(test)]
mod tests;
