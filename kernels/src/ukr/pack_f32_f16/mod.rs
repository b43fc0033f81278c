//! Eight rows of f32, each times a factor of its own, as the left side of f16 products.

#[cfg(target_arch = "riscv64")]
pub mod ime2;

use half::f16;

use crate::table::Family;

pub enum PackF32F16 {}

impl Family for PackF32F16 {
    type Args = Args;
    type Spec = ();
    const NAME: &'static str = "pack_f32_f16";
}

/// `y` is `[k / 8][8][8]`, `k` rounded up with zeros; number `j` of group `g` of row `r` is `x[r, 8 g + j] * factors[r]`, rounded
/// to nearest, ties to even.
#[repr(C)]
pub struct Args {
    pub x: *const f32,
    /// Bytes from one row to the next.
    pub x_stride: usize,
    /// One for each row.
    pub factors: *const f32,
    pub y: *mut f16,
    /// Bytes from the 64 numbers of one group to those of the next.
    pub y_stride: usize,
    /// Numbers of a row, at least one.
    pub k: usize,
}
