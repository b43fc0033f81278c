//! One i8 row by a panel of weights of few bits, which are unpacked in registers: what is packed is read from memory once, as
//! fast as it comes. Products are exact in i32 within a group, rescaled and summed in f32 from group to group.
//!
//! A matrix instruction takes as many rows as its tile has. They stand for as many groups of the one row: where a group is
//! multiplied, only its own row of the tile has numbers, so that the sums of all of these groups are rescaled at once.

#[cfg(target_arch = "riscv64")]
pub mod ime1_4x16x16;
#[cfg(target_arch = "riscv64")]
pub mod ime2_8x32x32;
pub mod scalar;
#[cfg(target_arch = "riscv64")]
mod stream;

use crate::table::{Family, MATVEC_NBITS, MatMulSpec, ProductFamily, Variant};

pub enum MatVecNBits {}

impl Family for MatVecNBits {
    type Args = Args;
    type Spec = MatMulSpec;
    const NAME: &'static str = "matvec_nbits";
}

impl ProductFamily for MatVecNBits {
    const VARIANTS: &'static [Variant<Self>] = MATVEC_NBITS;
}

/// `C = A x B` for one row. For each group, with `d` the exact product of its parts,
///
/// `x = float(d) - b_zero_point * a_sum` rounded once, `C[group % m] += (x * a_scale) * b_scale` with one rounding of the last
/// step. In the end the upper half of what is left of the `m` sums is added to the lower half until one is left.
///
/// With the tile `m x n x k` of the variant and `p` columns in a panel of its layout:
///
/// - `A` is `[groups][k_groups][m][k]`, 0 outside of row `group % m`.
/// - `B` is `[groups * k_groups / planes][p][k]` bytes, each of one code or of two: 16 times the low half, read as a signed
///   number, belongs to the first of two neighbouring `k_groups`, 16 times the high half to the second.
/// - Scales and sums of `A` are `[groups][n]`, `n` times the same number, with zeros up to a multiple of `m` groups. Scales
///   and zero points of `B` are `[groups][p]`.
/// - `C` is `[p]`.
#[repr(C)]
pub struct Args {
    pub a: *const i8,
    pub b: *const u8,
    pub a_scales: *const f32,
    /// Sums of the elements of `A`.
    pub a_sums: *const f32,
    pub b_scales: *const f32,
    /// Null when all are 0.
    pub b_zero_points: *const f32,
    pub c: *mut f32,
    /// At least one.
    pub groups: usize,
    /// At least one, up to 16. `groups * k_groups` is even, and with two codes in a byte `k_groups` is.
    pub k_groups: usize,
    /// Codes in a byte: 1 or 2.
    pub planes: usize,
}
