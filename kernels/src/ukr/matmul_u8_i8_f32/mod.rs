//! Blocks of products of u8 `A` and i8 `B`, summed in i32 and rescaled, without storing the sums.

#[cfg(target_arch = "riscv64")]
pub mod ime2_16x32x16;
pub mod scalar;

use super::FinishArgs;
use crate::table::{Family, MATMUL_U8_I8_F32, MatMulSpec, ProductFamily, Variant};

pub enum MatMulU8I8F32 {}

impl Family for MatMulU8I8F32 {
    type Args = Args;
    type Spec = MatMulSpec;
    const NAME: &'static str = "matmul_u8_i8_f32";
}

impl ProductFamily for MatMulU8I8F32 {
    const VARIANTS: &'static [Variant<Self>] = MATMUL_U8_I8_F32;
}

/// What belongs to the columns of a panel, as many numbers as it has columns. A sum of row `r` and column `c` becomes
/// `y = float(sum - zero_point * sums[c] - row_factors[r] * factors[c]) * (scale * scales[c]) + bias[c]`; integers wrap around.
#[repr(C)]
pub struct Columns {
    pub sums: *const i32,
    /// Read where there are `row_factors`.
    pub factors: *const i32,
    pub scales: *const f32,
    /// Null where there is none.
    pub bias: *const f32,
    pub zero_point: i32,
    pub scale: f32,
}

pub type Args = FinishArgs<u8, i8, Columns>;
