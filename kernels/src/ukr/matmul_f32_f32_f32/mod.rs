//! Blocks of f32 products.

#[cfg(target_arch = "riscv64")]
pub mod rvv_16x32x1;
#[cfg(target_arch = "riscv64")]
pub mod rvv_3x32x1;
#[cfg(target_arch = "riscv64")]
pub mod rvv_6x32x1;
pub mod scalar;

use super::MatMulArgs;
use crate::table::{Family, MATMUL_F32_F32_F32, MatMulFamily, MatMulSpec, ProductFamily, Variant};

pub enum MatMulF32F32F32 {}

impl Family for MatMulF32F32F32 {
    type Args = Args;
    type Spec = MatMulSpec;
    const NAME: &'static str = "matmul_f32_f32_f32";
}

impl ProductFamily for MatMulF32F32F32 {
    const VARIANTS: &'static [Variant<Self>] = MATMUL_F32_F32_F32;
}

impl MatMulFamily for MatMulF32F32F32 {
    type A = f32;
    type B = f32;
    type C = f32;
}

pub type Args = MatMulArgs<f32, f32, f32>;
