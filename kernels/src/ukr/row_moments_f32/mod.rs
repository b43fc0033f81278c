//! Sums over rows of f32, the beginning of a normalisation: those of one row are added up while the next one comes.

#[cfg(target_arch = "riscv64")]
pub mod rvv;

use crate::table::Family;

pub enum RowMomentsF32 {}

impl Family for RowMomentsF32 {
    type Args = Args;
    type Spec = RowSums;
    const NAME: &'static str = "row_moments_f32";
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowSums {
    /// Of `x - x[0]` and of its square.
    Moments,
    /// 0, and of `x * x`.
    Squares,
}

/// `rows` rows of `len` numbers, at least one of either; two sums for each, in lanes of f32.
#[repr(C)]
pub struct Args {
    pub x: *const f32,
    /// Bytes from one row to the next.
    pub x_stride: usize,
    pub rows: usize,
    pub len: usize,
    pub sums: *mut [f32; 2],
}
