//! Rows of a matrix from columns.

#[cfg(target_arch = "riscv64")]
pub mod rvv;
pub mod scalar;

use crate::table::Family;

pub enum Transpose {}

impl Family for Transpose {
    type Args = Args;
    /// Bytes of an element.
    type Spec = usize;
    const NAME: &'static str = "transpose";
}

/// `rows` rows of `columns` elements: element `[row, column]` of `y` is element `row` behind `x + column * x_stride`. All
/// are aligned.
#[repr(C)]
pub struct Args {
    pub x: *const u8,
    /// Bytes from one column to the next.
    pub x_stride: isize,
    pub y: *mut u8,
    /// Bytes from one row to the next.
    pub y_stride: usize,
    pub rows: usize,
    pub columns: usize,
}
