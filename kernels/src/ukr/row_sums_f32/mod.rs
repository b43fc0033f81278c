//! Weighted sums of many rows that are read once and in place.

#[cfg(target_arch = "riscv64")]
pub mod ime2;
#[cfg(target_arch = "riscv64")]
pub mod rvv;

use super::InPlace;
use crate::table::Family;

pub enum RowSumsF32 {}

impl Family for RowSumsF32 {
    type Args = Args;
    type Spec = InPlace;
    const NAME: &'static str = "row_sums_f32";
}

/// `y[r] += sum_t weights[r][t] * x[t]` for `rows` of one to [`ROWS`](super::ROWS) rows of `y`, which have no gaps, and `count` of at least one
/// row of `x`.
#[repr(C)]
pub struct Args {
    pub weights: *const f32,
    /// Bytes from one row of weights to the next.
    pub weights_stride: usize,
    pub rows: usize,
    pub x: *const u8,
    /// Bytes from one row of `x` to the next.
    pub x_stride: usize,
    pub count: usize,
    pub y: *mut f32,
    pub width: usize,
    /// Bytes from a row of `x` to the one that is asked for meanwhile.
    pub ahead: usize,
}
