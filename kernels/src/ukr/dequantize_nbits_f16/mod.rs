//! A panel of few bits as f16, in the order of a dense f16 weight: `y = code * s - z` rounded once, with `t = scale * factor` in f32,
//! `s = t` and `z = zero_point * t`, each rounded to f16.

#[cfg(target_arch = "riscv64")]
pub mod ime2;

use half::f16;

use crate::table::Family;

pub enum DequantizeNBitsF16 {}

impl Family for DequantizeNBitsF16 {
    type Args = Args;
    /// Bits of a code: 4 or 8.
    type Spec = usize;
    const NAME: &'static str = "dequantize_nbits_f16";
}

/// Some groups of a panel of 32 columns.
///
/// - `x` is `[groups][steps][32][16]` bytes, each of a signed code of 8 bits, or of two of 4 bits that stand for 16 times their
///   number, the low halves of all 16 bytes before the high ones.
/// - `y` is `[rows / 8][32][8]`, where a group has `16 * steps` rows or, of 4 bits, `32 * steps`.
/// - Scales and zero points are `[groups][32]`.
#[repr(C)]
pub struct Args {
    pub x: *const u8,
    pub y: *mut f16,
    pub scales: *const f32,
    /// Null when all are 0.
    pub zero_points: *const f32,
    /// A power of two, with which no `t` exceeds 65504.
    pub factor: f32,
    /// At least one.
    pub groups: usize,
    /// At least one.
    pub steps: usize,
}
