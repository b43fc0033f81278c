//! Codes of few bits as bytes: steps of half bytes become two steps each, the low halves times 16, then the high halves times
//! 16; steps of bytes are copied, which reads them from memory early.

#[cfg(target_arch = "riscv64")]
pub mod rvv;

use crate::table::Family;

pub enum UnpackI8 {}

impl Family for UnpackI8 {
    type Args = Args;
    /// Bits of a code: 4 or 8.
    type Spec = usize;
    const NAME: &'static str = "unpack_i8";
}

/// `steps` steps of `step` bytes of `x`, and as many bytes of `y` as they have codes.
#[repr(C)]
pub struct Args {
    pub x: *const u8,
    pub y: *mut i8,
    pub step: usize,
    pub steps: usize,
}
