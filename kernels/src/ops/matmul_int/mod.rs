//! Exact integer matrix products, as i32 or rescaled to f32 with an epilogue.
//!
//! The engines multiply u8 by i8. A signed left-hand side becomes unsigned by adding 128 to it and to its zero point, an
//! unsigned right-hand side becomes signed by subtracting 128; zero points are applied to the sums:
//! `sum (a - az)(b - bz) = sum ab - az sum b - bz (sum a - k az)`.

mod batched;
mod constant;
pub(in crate::ops) mod engine;
mod left;
mod rescaled;
mod sums;

pub use batched::{BatchedMatMulInt, IntBatchShape, RightSide};
pub use constant::{IntOutput, MatMulInt};
pub(in crate::ops) use left::row_sums;
pub use left::{LeftSide, ZeroPoint};
pub(in crate::ops) use sums::Sums;

/// The largest depth whose sums of `u8 x i8` always fit i32: `65536 * 255 * 128 < 2^31`.
pub const MAX_K: usize = 1 << 16;

#[cfg(test)]
mod tests;
