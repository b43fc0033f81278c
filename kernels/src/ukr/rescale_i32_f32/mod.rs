//! `y = float(sum - az s - bz r) * (a_scale b_scale)`: integer sums with their zero points and scales.

#[cfg(target_arch = "riscv64")]
pub mod rvv;

use crate::table::Family;

pub enum RescaleI32F32 {}

impl Family for RescaleI32F32 {
    type Args = Args;
    type Spec = ();
    const NAME: &'static str = "rescale_i32_f32";
}

/// `len` sums, numbers `s` for each column, zero points `bz` where they are not null, scales and results.
#[repr(C)]
pub struct Args {
    pub sums: *const i32,
    pub column_sums: *const i32,
    pub b_zero_points: *const i32,
    pub b_scales: *const f32,
    pub y: *mut f32,
    pub len: usize,
    /// `az`
    pub a_zero_point: i32,
    /// `r`
    pub row_sum: i32,
    pub a_scale: f32,
}
