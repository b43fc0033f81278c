//! What is left of a row of f32.

#[cfg(target_arch = "riscv64")]
pub mod rvv;

use crate::table::Family;

pub enum ReduceF32 {}

impl Family for ReduceF32 {
    type Args = Args;
    type Spec = Reduction;
    const NAME: &'static str = "reduce_f32";
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// Smallest and largest number; NaN is passed over, infinities when there is none.
    Extremes,
    /// The largest number, and 0; NaN is passed over, minus infinity when there is none.
    Greatest,
    /// Sums of `x - shift` and of its square, in lanes of f32.
    Moments,
    /// As [`Reduction::Squares`], in lanes of f32.
    LaneSquares,
    /// The sum of squares, in f64, and 0.
    Squares,
    /// The sum, in f64, and 0.
    Sum,
}

/// `len` numbers of `x`; the result is two numbers.
#[repr(C)]
pub struct Args {
    pub x: *const f32,
    pub len: usize,
    /// Subtracted from every number, for moments.
    pub shift: f32,
    pub result: *mut [f64; 2],
}
