//! Products of each of some query rows with each of many rows that are read once and in place.

#[cfg(target_arch = "riscv64")]
pub mod ime2;
#[cfg(target_arch = "riscv64")]
pub mod ime2_f16;
#[cfg(target_arch = "riscv64")]
mod ime2_pieces;
#[cfg(target_arch = "riscv64")]
pub mod rvv;

use super::InPlace;
use crate::table::Family;

pub enum RowDotsF32 {}

impl Family for RowDotsF32 {
    type Args = Args;
    type Spec = InPlace;
    const NAME: &'static str = "row_dots_f32";
}

/// `y[r][t] = scale * q[r] . x[t]` for up to [`ROWS`](super::ROWS) rows of `q`, which have no gaps, and `groups` groups of rows of `x`.
#[repr(C)]
pub struct Args {
    pub q: *const f32,
    pub rows: usize,
    pub width: usize,
    pub x: *const u8,
    /// Bytes from one row of `x` to the next; 0 for rows of any width, of which all of a group are then the same.
    pub x_stride: usize,
    pub groups: usize,
    pub y: *mut f32,
    /// Bytes from one row of `y` to the next.
    pub y_stride: usize,
    pub scale: f32,
    /// What a variant that rounds the query rows multiplies them by before.
    pub shrink: f32,
    /// Bytes from a row of `x` to the one that is asked for meanwhile.
    pub ahead: usize,
}
