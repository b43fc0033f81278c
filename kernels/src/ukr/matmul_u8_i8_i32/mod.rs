//! Blocks of products of u8 `A` and i8 `B`, summed in i32. Sums wrap around.

#[cfg(target_arch = "riscv64")]
pub mod ime1_12x16x8;
#[cfg(target_arch = "riscv64")]
pub mod ime2_16x32x16;
#[cfg(target_arch = "riscv64")]
pub mod rvv_3x32x1;
#[cfg(target_arch = "riscv64")]
pub mod rvv_6x32x1;
pub mod scalar;

use super::MatMulArgs;
use crate::table::{Family, MATMUL_U8_I8_I32, MatMulFamily, MatMulSpec, ProductFamily, Variant};

pub enum MatMulU8I8I32 {}

impl Family for MatMulU8I8I32 {
    type Args = Args;
    type Spec = MatMulSpec;
    const NAME: &'static str = "matmul_u8_i8_i32";
}

impl ProductFamily for MatMulU8I8I32 {
    const VARIANTS: &'static [Variant<Self>] = MATMUL_U8_I8_I32;
}

impl MatMulFamily for MatMulU8I8I32 {
    type A = u8;
    type B = i8;
    type C = i32;
}

pub type Args = MatMulArgs<u8, i8, i32>;
