//! f32 matrix products with an epilogue.

mod batched;
mod constant;

pub use batched::{BatchShape, BatchedMatMul};
pub use constant::MatMul;

/// Rows of a block of the host engine: two of `rten`'s row blocks, each of eleven tiles of six.
const BLOCK_ROWS: usize = 132;
/// A multiple of the rows of `rten`'s f32 tiles.
const ROW_GRAIN: usize = 6;

#[cfg(test)]
mod tests;
