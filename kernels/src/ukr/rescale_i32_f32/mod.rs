//! `y = float(sum - az s - bz r) * (a_scale b_scale) + bias`: blocks of integer sums with their zero points and scales.

#[cfg(target_arch = "riscv64")]
pub mod rvv;

use crate::table::Family;

pub enum RescaleI32F32 {}

impl Family for RescaleI32F32 {
    type Args = Args;
    type Spec = ();
    const NAME: &'static str = "rescale_i32_f32";
}

/// `rows` rows of `columns` sums and results, whose rows are so many bytes apart.
///
/// For each column: numbers `s`, zero points `bz` where they are not null, scales, and the bias where it is not null. For each
/// row: zero points `az`, and numbers `r` that are read where there are `bz`.
#[repr(C)]
pub struct Args {
    pub sums: *const i32,
    pub sums_stride: usize,
    pub column_sums: *const i32,
    pub b_zero_points: *const i32,
    pub b_scales: *const f32,
    pub bias: *const f32,
    pub y: *mut f32,
    pub y_stride: usize,
    pub rows: usize,
    pub columns: usize,
    pub a_zero_points: *const i32,
    pub row_sums: *const i32,
    pub a_scale: f32,
}
