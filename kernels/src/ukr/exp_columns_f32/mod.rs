//! `y = exp(x - shift)` and the sum of `y` for each of [`COLUMNS`] columns: the middle of a softmax of rows that stand side by side.

#[cfg(target_arch = "riscv64")]
pub mod rvv;

use crate::table::Family;

pub use super::column_max_f32::{COLUMNS, STEP};

pub enum ExpColumnsF32 {}

impl Family for ExpColumnsF32 {
    type Args = Args;
    type Spec = ();
    const NAME: &'static str = "exp_columns_f32";
}

/// `len` numbers of `x` and of `y`, which may be the same: [`STEP`] rows of [`COLUMNS`] columns or a multiple of them. `shifts` has
/// a number for each column, [`STEP`] times after the other; `sums` one. A number that is larger than its shift by more than 40
/// gives any result.
#[repr(C)]
pub struct Args {
    pub x: *const f32,
    pub y: *mut f32,
    pub len: usize,
    pub shifts: *const f32,
    pub sums: *mut f32,
}
