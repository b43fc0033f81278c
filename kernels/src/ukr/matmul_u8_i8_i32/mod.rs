//! Blocks of `C = A x B` with u8 `A`, i8 `B` and i32 `C`, both sides packed by tile.

pub mod scalar;

use crate::table::Family;

pub enum MatMulU8I8I32 {}

impl Family for MatMulU8I8I32 {
    type Args = Args;
    const NAME: &'static str = "matmul_u8_i8_i32";
}

/// One block. With the tile `m x n x k` of the variant:
///
/// - `A` is `row_panels` panels of `[k_groups][m][k]` bytes, `B` is `column_panels` panels of `[k_groups][n][k]`.
/// - `C` is row-major; `row_panels * m` rows of `column_panels * n` numbers are written. Sums wrap around.
/// - The panels are at most those of the variant's block, and at least one.
#[repr(C)]
pub struct Args {
    pub a: *const u8,
    /// Bytes from one row panel to the next.
    pub a_stride: usize,
    pub b: *const i8,
    /// Bytes from one column panel to the next.
    pub b_stride: usize,
    pub c: *mut i32,
    /// Bytes from one row of `C` to the next.
    pub c_stride: usize,
    pub k_groups: usize,
    pub row_panels: usize,
    pub column_panels: usize,
}
