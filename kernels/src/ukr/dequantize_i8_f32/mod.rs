//! `y = (float(x) - zero_point) * scale` for rows of 32 columns, each column with its own zero point and scale.

#[cfg(target_arch = "riscv64")]
pub mod rvv;

use crate::table::Family;

pub enum DequantizeI8F32 {}

impl Family for DequantizeI8F32 {
    type Args = Args;
    type Spec = ();
    const NAME: &'static str = "dequantize_i8_f32";
}

/// `x` and `y` are `[rows][32]`, scales and zero points `[32]`.
#[repr(C)]
pub struct Args {
    pub x: *const i8,
    pub y: *mut f32,
    pub scales: *const f32,
    /// Null when all are 0.
    pub zero_points: *const f32,
    pub rows: usize,
}
