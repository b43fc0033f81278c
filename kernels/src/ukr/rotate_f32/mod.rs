//! Pairs `(a, b)` of a row become `(a * cos - b * sin, a * sin + b * cos)`; the second product of each number is added
//! without being rounded first.

#[cfg(target_arch = "riscv64")]
pub mod rvv;
#[cfg(target_arch = "riscv64")]
mod whole;

use crate::table::Family;

pub enum RotateF32 {}

impl Family for RotateF32 {
    type Args = Args;
    type Spec = Pairs;
    const NAME: &'static str = "rotate_f32";
}

/// Where the two numbers of a pair are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// In the two halves of the row.
    Halves,
    /// Side by side.
    Neighbours,
}

/// `rows` rows `x` and `y` of `2 * pairs` numbers, which may be the same, and a cosine and a sine for each pair of a row.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Args {
    pub x: *const f32,
    pub y: *mut f32,
    pub cos: *const f32,
    pub sin: *const f32,
    pub pairs: usize,
    pub rows: usize,
    /// Bytes from one row to the next.
    pub x_stride: usize,
    pub y_stride: usize,
}
