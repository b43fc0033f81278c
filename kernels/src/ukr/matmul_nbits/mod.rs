//! Blocks of products of i8 rows with weights of few bits, which are unpacked to i8: exact in i32 within a group of rows that
//! share their scales, rescaled and summed in f32 from group to group.

#[cfg(target_arch = "riscv64")]
pub mod ime1_8x16x16;
#[cfg(target_arch = "riscv64")]
mod ime1_four_rows;
#[cfg(target_arch = "riscv64")]
pub mod rvv_2x32x1;
pub mod scalar;

use crate::table::{Family, MATMUL_NBITS, MatMulSpec, ProductFamily, Variant};

pub enum MatMulNBits {}

impl Family for MatMulNBits {
    type Args = Args;
    type Spec = MatMulSpec;
    const NAME: &'static str = "matmul_nbits";
}

impl ProductFamily for MatMulNBits {
    const VARIANTS: &'static [Variant<Self>] = MATMUL_NBITS;
}

/// Some rows by one panel of columns. For each group, with `d` the exact product of its part of a row and of a column,
///
/// `x = float(d) - b_zero_point * a_sum` rounded once, `C += (x * a_scale) * b_scale` with one rounding of the last step.
///
/// With the tile `m x n x k` of the variant, `p` columns in a panel of its layout and `rows` a multiple of `m` up to that of
/// its block, at least one:
///
/// - `A` is `[groups][k_groups][rows][k]` and `B` is `[groups][k_groups][p][k]`, both without gaps. `k_groups` is at least 1,
///   and `k_groups * k` is 16, 32, 64 or 128. No number of `A` is -128.
/// - Scales and sums of `A` are `[groups][rows][copies]`, the same number in all copies of its spec. Scales and zero points of
///   `B` are `[groups][p / n][copies][n]`, with the copies of columns of the spec.
/// - `C` is `[rows / m][p / n][m][n]`, without gaps.
#[repr(C)]
pub struct Args {
    pub a: *const i8,
    pub b: *const i8,
    pub a_scales: *const f32,
    /// Sums of the elements of `A`.
    pub a_sums: *const f32,
    pub b_scales: *const f32,
    /// Null when all are 0.
    pub b_zero_points: *const f32,
    pub c: *mut f32,
    pub groups: usize,
    pub k_groups: usize,
    pub rows: usize,
}
