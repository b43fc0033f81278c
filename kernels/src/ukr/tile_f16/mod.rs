//! Eight rows of 64 f16 as the tiles that the matrix unit takes.

#[cfg(target_arch = "riscv64")]
pub mod ime2;

use half::f16;

use crate::table::Family;

pub enum TileF16 {}

impl Family for TileF16 {
    type Args = Args;
    type Spec = TilesOf;
    const NAME: &'static str = "tile_f16";
}

/// What a row of a tile is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TilesOf {
    /// Eight neighbours of a row: tile `j` is `x[0..8, 8 j..8 j + 8]`.
    Rows,
    /// The numbers of a column: tile `j` is the transpose of that.
    Columns,
}

/// Rows `x` of 64 numbers become eight tiles `y` of 64: those of rows lie `y_stride` bytes apart, those of columns in pairs that do.
#[repr(C)]
pub struct Args {
    pub x: *const f16,
    /// Bytes from one row to the next.
    pub x_stride: usize,
    pub y: *mut f16,
    pub y_stride: usize,
}
