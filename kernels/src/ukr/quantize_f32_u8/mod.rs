//! `y = saturate(round_half_even(x / scale) + zero_point)` in u8, its bits `flip` flipped. NaN gives the smallest value.

#[cfg(target_arch = "riscv64")]
pub mod rvv;

use crate::table::Family;

pub enum QuantizeF32U8 {}

impl Family for QuantizeF32U8 {
    type Args = Args;
    type Spec = ();
    const NAME: &'static str = "quantize_f32_u8";
}

/// `len` numbers of `x` and of `y`.
#[repr(C)]
pub struct Args {
    pub x: *const f32,
    pub y: *mut u8,
    pub len: usize,
    pub scale: f32,
    /// 0 to 255.
    pub zero_point: i32,
    pub flip: u8,
}
