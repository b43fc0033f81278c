//! f16 to f32, exactly.

#[cfg(target_arch = "riscv64")]
pub mod rvv;

use half::f16;

use crate::table::Family;

pub enum ConvertF16F32 {}

impl Family for ConvertF16F32 {
    type Args = Args;
    type Spec = ();
    const NAME: &'static str = "convert_f16_f32";
}

/// `len` numbers of `x` and of `y`.
#[repr(C)]
pub struct Args {
    pub x: *const f16,
    pub y: *mut f32,
    pub len: usize,
}
