//! Products with constant right-hand sides of 2, 4 or 8 bits, quantised in blocks.

mod driver;
mod float;
mod integer;

pub use driver::{Compute, MatMulNBits};

#[cfg(test)]
mod tests;
