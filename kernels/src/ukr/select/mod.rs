//! A choice between two elements by a bool.

#[cfg(target_arch = "riscv64")]
pub mod rvv;

use crate::table::Family;

pub enum Select {}

impl Family for Select {
    type Args = Args;
    /// Bytes of an element.
    type Spec = usize;
    const NAME: &'static str = "select";
}

/// `len` elements of `y`: those of `a` where the byte of `condition` is not 0, else those of `b`. An operand has `len`
/// elements too, or one that repeats.
#[repr(C)]
pub struct Args {
    pub condition: *const u8,
    pub a: *const u8,
    pub b: *const u8,
    pub y: *mut u8,
    pub len: usize,
    pub a_repeats: bool,
    pub b_repeats: bool,
}
