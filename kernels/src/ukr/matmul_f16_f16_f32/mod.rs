//! Blocks of f16 products, summed in f32.

#[cfg(target_arch = "riscv64")]
pub mod ime2_16x32x8;
#[cfg(target_arch = "riscv64")]
pub mod rvv_3x32x1;
#[cfg(target_arch = "riscv64")]
pub mod rvv_6x32x1;
pub mod scalar;

use half::f16;

use super::MatMulArgs;
use crate::table::{Family, MATMUL_F16_F16_F32, MatMulFamily, MatMulSpec, ProductFamily, Variant};

pub enum MatMulF16F16F32 {}

impl Family for MatMulF16F16F32 {
    type Args = Args;
    type Spec = MatMulSpec;
    const NAME: &'static str = "matmul_f16_f16_f32";
}

impl ProductFamily for MatMulF16F16F32 {
    const VARIANTS: &'static [Variant<Self>] = MATMUL_F16_F16_F32;
}

impl MatMulFamily for MatMulF16F16F32 {
    type A = f16;
    type B = f16;
    type C = f32;
}

pub type Args = MatMulArgs<f16, f16, f32>;
