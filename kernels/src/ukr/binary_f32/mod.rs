//! Functions of two f32, element by element.

#[cfg(target_arch = "riscv64")]
pub mod rvv;

use crate::table::Family;

pub enum BinaryF32 {}

impl Family for BinaryF32 {
    type Args = Args;
    type Spec = Function;
    const NAME: &'static str = "binary_f32";
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    Add,
    Sub,
    Mul,
    Div,
    /// NaN if either is NaN.
    Min,
    /// NaN if either is NaN.
    Max,
}

/// `len` numbers of `y`, which may be one of the operands. An operand has `len` numbers too, or one that repeats; not both
/// repeat.
#[repr(C)]
pub struct Args {
    pub a: *const f32,
    pub b: *const f32,
    pub y: *mut f32,
    pub len: usize,
    pub a_repeats: bool,
    pub b_repeats: bool,
}
