//! Products with constant right-hand sides of 2, 4 or 8 bits, quantised in blocks.

mod dequantized;
mod driver;
mod engine;
mod float;
mod gated;
mod groups;
mod halves;
mod integer;
mod left;
mod line;
mod piece;
mod quantized;
mod row;

pub use driver::MatMulNBits;
pub use engine::Engine;
pub use gated::{Gate, GatedNBits};

pub(crate) use left::{Left, STRIP};

/// What products are computed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compute {
    /// Everything in f32.
    F32,
    /// `A` is rounded to int8 first: an element is off by at most 1/254 of the largest of the neighbours of a row that it shares
    /// a scale with. On the host these are 32, on chips up to 128, and no more than a block of the weight has. The products
    /// are exact. Where K3 has several rows, both sides are rounded to f16 instead, which is closer: a number is off by at most
    /// 2^-11 of itself, a weight by thrice as much, or both by 2^-39 of the largest of the row, or of the weight.
    Int8,
}

impl std::fmt::Display for Compute {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if *self == Compute::Int8 { "int8" } else { "f32" })
    }
}

#[cfg(test)]
mod tests;
