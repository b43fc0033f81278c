//! f32 to f16, rounded to nearest, ties to even.

#[cfg(target_arch = "riscv64")]
pub mod rvv;

use half::f16;

use crate::table::Family;

pub enum ConvertF32F16 {}

impl Family for ConvertF32F16 {
    type Args = Args;
    type Spec = ();
    const NAME: &'static str = "convert_f32_f16";
}

/// `len` numbers of `x` and of `y`.
#[repr(C)]
pub struct Args {
    pub x: *const f32,
    pub y: *mut f16,
    pub len: usize,
}
