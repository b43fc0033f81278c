//! Blocks of f16 products, summed in f32, plus a bias: `y = sum + bias`.

#[cfg(target_arch = "riscv64")]
pub mod ime2_16x32x8;
pub mod scalar;

use half::f16;

use super::FinishArgs;
use crate::table::{Family, MATMUL_BIAS_F16_F16_F32, MatMulSpec, ProductFamily, Variant};

pub enum MatMulBiasF16F16F32 {}

impl Family for MatMulBiasF16F16F32 {
    type Args = Args;
    type Spec = MatMulSpec;
    const NAME: &'static str = "matmul_bias_f16_f16_f32";
}

impl ProductFamily for MatMulBiasF16F16F32 {
    const VARIANTS: &'static [Variant<Self>] = MATMUL_BIAS_F16_F16_F32;
}

/// The bias of the columns of a panel, as many numbers as it has columns; null where there is none.
#[repr(C)]
pub struct Bias(pub *const f32);

/// Factors of rows are not read.
pub type Args = FinishArgs<f16, f16, Bias>;
