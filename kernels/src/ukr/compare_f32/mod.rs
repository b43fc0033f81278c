//! Comparisons of two f32, element by element.

#[cfg(target_arch = "riscv64")]
pub mod rvv;

use crate::table::Family;

pub enum CompareF32 {}

impl Family for CompareF32 {
    type Args = Args;
    type Spec = Relation;
    const NAME: &'static str = "compare_f32";
}

/// False if either is NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    Equal,
    Less,
    LessOrEqual,
}

/// `len` bools `y`, 1 or 0. An operand has `len` numbers too, or one that repeats; not both repeat.
#[repr(C)]
pub struct Args {
    pub a: *const f32,
    pub b: *const f32,
    pub y: *mut u8,
    pub len: usize,
    pub a_repeats: bool,
    pub b_repeats: bool,
}
