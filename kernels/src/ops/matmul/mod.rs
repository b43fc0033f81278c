//! f32 matrix products with an epilogue.

mod batched;
mod constant;
pub(in crate::ops) mod engine;
mod operand;

pub use batched::{BatchShape, BatchedMatMul};
pub use constant::MatMul;

#[cfg(test)]
mod tests;
