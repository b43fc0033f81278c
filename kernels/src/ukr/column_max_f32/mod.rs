//! The largest number of each of [`COLUMNS`] columns: the beginning of a softmax of rows that stand side by side.

#[cfg(target_arch = "riscv64")]
pub mod rvv;

use crate::table::Family;

/// Columns of a row.
pub const COLUMNS: usize = 32;
/// What the number of rows is a multiple of.
pub const STEP: usize = 4;

pub enum ColumnMaxF32 {}

impl Family for ColumnMaxF32 {
    type Args = Args;
    type Spec = ();
    const NAME: &'static str = "column_max_f32";
}

/// Each of [`COLUMNS`] numbers of `max` becomes the largest of it and its column of `x`, which has `rows` rows of so many numbers,
/// a multiple of [`STEP`] and at least one of them; NaN is passed over.
#[repr(C)]
pub struct Args {
    pub x: *const f32,
    pub rows: usize,
    pub max: *mut f32,
}
