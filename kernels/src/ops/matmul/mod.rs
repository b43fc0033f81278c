//! f32 matrix products with an epilogue.

mod constant;

pub use constant::MatMul;

#[cfg(test)]
mod tests;
