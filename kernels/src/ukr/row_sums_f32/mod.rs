//! Weighted sums of many rows that are read once and in place.

#[cfg(target_arch = "riscv64")]
pub mod ime2;
#[cfg(target_arch = "riscv64")]
pub mod rvv;

use super::Widths;
use crate::table::Family;
use crate::tensor::DType;

pub enum RowSumsF32 {}

impl Family for RowSumsF32 {
    type Args = Args;
    type Spec = Spec;
    const NAME: &'static str = "row_sums_f32";
}

/// Which rows a variant reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Their element, f32 or f16.
    pub of: DType,
    pub widths: Widths,
    /// What the number of rows is a multiple of.
    pub group: usize,
    /// Whether the weights are rounded to f16.
    pub rounds: bool,
}

/// Most rows of sums.
pub const ROWS: usize = 8;

/// `y[r] += sum_t weights[r][t] * x[t]` for `rows` of one to [`ROWS`] rows of `y`, which have no gaps, and `count` of at least one
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
