//! `y = round_half_even(x * (127 / max |x|))` in i8, for each group of neighbours on its own.

#[cfg(target_arch = "riscv64")]
mod rounds;
#[cfg(target_arch = "riscv64")]
pub mod rvv;

use crate::table::Family;

pub enum QuantizeF32I8 {}

impl Family for QuantizeF32I8 {
    type Args = Args;
    type Spec = ();
    const NAME: &'static str = "quantize_f32_i8";
}

/// 2^-120. A group whose largest number is smaller is taken for zeros, because `127 / max |x|` might overflow.
pub const LEAST: f32 = f32::from_bits(0x0380_0000);

/// `len` numbers of `x` and of `y`, in groups of `group` numbers, at least 1 and at most 128, the last of what is left.
#[repr(C)]
pub struct Args {
    pub x: *const f32,
    pub y: *mut i8,
    /// `max |x| / 127` of each group; 0 below [`LEAST`], NaN where a number is not finite.
    pub scales: *mut f32,
    /// Sum of `y` of each group, as far as its scale is not NaN.
    pub sums: *mut f32,
    pub len: usize,
    pub group: usize,
}
