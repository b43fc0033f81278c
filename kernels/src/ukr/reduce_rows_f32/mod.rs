//! What is left of rows of f32: one is folded while the next one comes.

#[cfg(target_arch = "riscv64")]
pub mod rvv;

use crate::table::Family;

pub enum ReduceRowsF32 {}

impl Family for ReduceRowsF32 {
    type Args = Args;
    type Spec = RowReduction;
    const NAME: &'static str = "reduce_rows_f32";
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowReduction {
    /// The largest number, and 0; NaN is passed over, minus infinity when there is none.
    Greatest,
    /// Sums of `x - x[0]` and of its square.
    Moments,
    /// 0, and the sum of squares.
    Squares,
}

/// `rows` rows of `len` numbers, at least one of either; two results for each, sums in lanes of f32.
#[repr(C)]
pub struct Args {
    pub x: *const f32,
    /// Bytes from one row to the next.
    pub x_stride: usize,
    pub rows: usize,
    pub len: usize,
    pub results: *mut [f32; 2],
}
