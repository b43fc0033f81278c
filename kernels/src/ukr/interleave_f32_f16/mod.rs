//! Rows of 32 f32 as the right-hand side of f16 products.

#[cfg(target_arch = "riscv64")]
pub mod ime2;

use half::f16;

use crate::table::Family;

pub enum InterleaveF32F16 {}

impl Family for InterleaveF32F16 {
    type Args = Args;
    type Spec = ();
    const NAME: &'static str = "interleave_f32_f16";
}

/// `x` is `[8 groups, 32]` and `y` `[groups, 32, 8]`: number `j` of column `c` of group `g` is `x[8 g + j, c]`, rounded to nearest,
/// ties to even.
#[repr(C)]
pub struct Args {
    pub x: *const f32,
    pub y: *mut f16,
    pub groups: usize,
}
