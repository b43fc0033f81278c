//! Blocks of `C = A x B` in f32, with `B` packed in panels.

pub mod scalar;

use crate::table::Family;

pub enum MatMulF32F32F32 {}

impl Family for MatMulF32F32F32 {
    type Args = Args;
    const NAME: &'static str = "matmul_f32_f32_f32";
}

/// One block. With the tile `1 x n x 1` of the variant:
///
/// - `A` is `rows x k` with any strides, `B` is `column_panels` panels of `[k][n]`.
/// - `C` is row-major; `rows` rows of `column_panels * n` numbers are written.
/// - Rows and panels are at most those of the variant's block, and at least one. `k` may be 0.
#[repr(C)]
pub struct Args {
    pub a: *const f32,
    /// Bytes from one row of `A` to the next.
    pub a_row_stride: usize,
    /// Bytes from one column of `A` to the next.
    pub a_k_stride: usize,
    pub b: *const f32,
    /// Bytes from one column panel to the next.
    pub b_stride: usize,
    pub c: *mut f32,
    /// Bytes from one row of `C` to the next.
    pub c_stride: usize,
    pub k: usize,
    pub rows: usize,
    pub column_panels: usize,
}
