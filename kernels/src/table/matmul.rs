//! Matrix products. Within a layout, the fastest first and the scalar twin last.

use super::{MatMulSpec, Variant, riscv};
use crate::isa::Needs;
use crate::pack::PackLayout;
use crate::ukr::matmul_bias_f16_f16_f32::{self, MatMulBiasF16F16F32};
use crate::ukr::matmul_f16_f16_f32::{self, MatMulF16F16F32};
use crate::ukr::matmul_f32_f32_f32::{self, MatMulF32F32F32};
use crate::ukr::matmul_nbits::{self, MatMulNBits};
use crate::ukr::matmul_u8_i8_f32::{self, MatMulU8I8F32};
use crate::ukr::matmul_u8_i8_i32::{self, MatMulU8I8I32};
use crate::ukr::matvec_nbits::{self, MatVecNBits};

pub static MATMUL_F32_F32_F32: &[Variant<MatMulF32F32F32>] = &[
    Variant {
        name: "rvv_16x32x1",
        needs: Needs::RVV_1024,
        spec: MatMulSpec::new([1, 32, 1], [16, 32, 1], PackLayout::F32P32X1),
        run: riscv!(matmul_f32_f32_f32::rvv_16x32x1::run),
    },
    Variant {
        name: "rvv_6x32x1",
        needs: Needs::RVV_256,
        spec: MatMulSpec::new([1, 32, 1], [6, 32, 1], PackLayout::F32P32X1),
        run: riscv!(matmul_f32_f32_f32::rvv_6x32x1::run),
    },
    Variant {
        name: "rvv_3x32x1",
        needs: Needs::RVV,
        spec: MatMulSpec::new([1, 32, 1], [3, 32, 1], PackLayout::F32P32X1),
        run: riscv!(matmul_f32_f32_f32::rvv_3x32x1::run),
    },
    Variant {
        name: "scalar_4x32x1",
        needs: Needs::SCALAR,
        spec: MatMulSpec::new([1, 32, 1], [4, 32, 1], PackLayout::F32P32X1),
        run: Some(matmul_f32_f32_f32::scalar::run::<32, 1>),
    },
];

pub static MATMUL_F16_F16_F32: &[Variant<MatMulF16F16F32>] = &[
    Variant {
        name: "ime2_16x32x8",
        needs: Needs::IME2,
        spec: MatMulSpec::new([8, 8, 8], [16, 32, 8], PackLayout::F16P32X8),
        run: riscv!(matmul_f16_f16_f32::ime2_16x32x8::run),
    },
    Variant {
        name: "scalar_16x32x8",
        needs: Needs::SCALAR,
        spec: MatMulSpec::new([8, 8, 8], [16, 32, 8], PackLayout::F16P32X8),
        run: Some(matmul_f16_f16_f32::scalar::run::<32, 8>),
    },
    Variant {
        name: "rvv_6x32x1",
        needs: Needs::ZVFH_256,
        spec: MatMulSpec::new([1, 32, 1], [6, 32, 1], PackLayout::F16P32X1),
        run: riscv!(matmul_f16_f16_f32::rvv_6x32x1::run),
    },
    Variant {
        name: "rvv_3x32x1",
        needs: Needs::ZVFH,
        spec: MatMulSpec::new([1, 32, 1], [3, 32, 1], PackLayout::F16P32X1),
        run: riscv!(matmul_f16_f16_f32::rvv_3x32x1::run),
    },
    Variant {
        name: "scalar_4x32x1",
        needs: Needs::SCALAR,
        spec: MatMulSpec::new([1, 32, 1], [4, 32, 1], PackLayout::F16P32X1),
        run: Some(matmul_f16_f16_f32::scalar::run::<32, 1>),
    },
];

pub static MATMUL_BIAS_F16_F16_F32: &[Variant<MatMulBiasF16F16F32>] = &[
    Variant {
        name: "ime2_16x32x8",
        needs: Needs::IME2,
        spec: MatMulSpec::new([8, 8, 8], [16, 32, 8], PackLayout::F16P32X8),
        run: riscv!(matmul_bias_f16_f16_f32::ime2_16x32x8::run),
    },
    Variant {
        name: "scalar_16x32x8",
        needs: Needs::SCALAR,
        spec: MatMulSpec::new([8, 8, 8], [16, 32, 8], PackLayout::F16P32X8),
        run: Some(matmul_bias_f16_f16_f32::scalar::run),
    },
];

pub static MATMUL_U8_I8_I32: &[Variant<MatMulU8I8I32>] = &[
    Variant {
        name: "ime1_12x16x8",
        needs: Needs::IME1,
        spec: MatMulSpec::new([4, 4, 8], [12, 16, 8], PackLayout::I8P16X8),
        run: riscv!(matmul_u8_i8_i32::ime1_12x16x8::run),
    },
    Variant {
        name: "scalar_12x16x8",
        needs: Needs::SCALAR,
        spec: MatMulSpec::new([4, 4, 8], [12, 16, 8], PackLayout::I8P16X8),
        run: Some(matmul_u8_i8_i32::scalar::run::<16, 8>),
    },
    Variant {
        name: "ime2_16x32x16",
        needs: Needs::IME2,
        spec: MatMulSpec::new([8, 8, 16], [16, 32, 16], PackLayout::I8P32X16),
        run: riscv!(matmul_u8_i8_i32::ime2_16x32x16::run),
    },
    Variant {
        name: "scalar_16x32x16",
        needs: Needs::SCALAR,
        spec: MatMulSpec::new([8, 8, 16], [16, 32, 16], PackLayout::I8P32X16),
        run: Some(matmul_u8_i8_i32::scalar::run::<32, 16>),
    },
    Variant {
        name: "rvv_6x32x1",
        needs: Needs::RVV_256,
        spec: MatMulSpec::new([1, 32, 1], [6, 32, 1], PackLayout::I8P32X1),
        run: riscv!(matmul_u8_i8_i32::rvv_6x32x1::run),
    },
    Variant {
        name: "rvv_3x32x1",
        needs: Needs::RVV,
        spec: MatMulSpec::new([1, 32, 1], [3, 32, 1], PackLayout::I8P32X1),
        run: riscv!(matmul_u8_i8_i32::rvv_3x32x1::run),
    },
    Variant {
        name: "scalar_4x32x1",
        needs: Needs::SCALAR,
        spec: MatMulSpec::new([1, 32, 1], [4, 32, 1], PackLayout::I8P32X1),
        run: Some(matmul_u8_i8_i32::scalar::run::<32, 1>),
    },
];

pub static MATMUL_U8_I8_F32: &[Variant<MatMulU8I8F32>] = &[
    Variant {
        name: "ime2_16x32x16",
        needs: Needs::IME2,
        spec: MatMulSpec::new([8, 8, 16], [16, 32, 16], PackLayout::I8P32X16),
        run: riscv!(matmul_u8_i8_f32::ime2_16x32x16::run),
    },
    Variant {
        name: "scalar_16x32x16",
        needs: Needs::SCALAR,
        spec: MatMulSpec::new([8, 8, 16], [16, 32, 16], PackLayout::I8P32X16),
        run: Some(matmul_u8_i8_f32::scalar::run),
    },
];

pub static MATMUL_NBITS: &[Variant<MatMulNBits>] = &[
    Variant {
        name: "ime1_8x16x16",
        needs: Needs::IME1,
        spec: MatMulSpec::new([4, 4, 8], [8, 16, 16], PackLayout::I8P16X8),
        run: riscv!(matmul_nbits::ime1_8x16x16::run),
    },
    Variant {
        name: "scalar_8x16x8",
        needs: Needs::SCALAR,
        spec: MatMulSpec::new([4, 4, 8], [8, 16, 8], PackLayout::I8P16X8),
        run: Some(matmul_nbits::scalar::run::<16, 8, 4, 4>),
    },
    Variant {
        name: "rvv_2x32x1",
        needs: Needs::RVV,
        spec: MatMulSpec::new([1, 32, 1], [2, 32, 1], PackLayout::I8P32X1),
        run: riscv!(matmul_nbits::rvv_2x32x1::run),
    },
    Variant {
        name: "scalar_2x32x1",
        needs: Needs::SCALAR,
        spec: MatMulSpec::new([1, 32, 1], [2, 32, 1], PackLayout::I8P32X1),
        run: Some(matmul_nbits::scalar::run::<32, 1, 1, 32>),
    },
];

pub static MATVEC_NBITS: &[Variant<MatVecNBits>] = &[
    Variant {
        name: "ime1_4x16x16",
        needs: Needs::IME1,
        spec: MatMulSpec::new([4, 4, 8], [4, 16, 16], PackLayout::I8P16X8),
        run: riscv!(matvec_nbits::ime1_4x16x16::run),
    },
    Variant {
        name: "scalar_4x16x8",
        needs: Needs::SCALAR,
        spec: MatMulSpec::new([4, 4, 8], [4, 16, 8], PackLayout::I8P16X8),
        run: Some(matvec_nbits::scalar::run::<16, 8, 4, 4>),
    },
    Variant {
        name: "ime2_8x32x32",
        needs: Needs::IME2,
        spec: MatMulSpec::new([8, 8, 16], [8, 32, 32], PackLayout::I8P32X16),
        run: riscv!(matvec_nbits::ime2_8x32x32::run),
    },
    Variant {
        name: "scalar_8x32x16",
        needs: Needs::SCALAR,
        spec: MatMulSpec::new([8, 8, 16], [8, 32, 16], PackLayout::I8P32X16),
        run: Some(matvec_nbits::scalar::run::<32, 16, 8, 8>),
    },
];
