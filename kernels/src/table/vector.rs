//! Loops over contiguous numbers. Other cores run the portable form in [`crate::vector`].

use super::{Variant, riscv};
use crate::isa::Needs;
use crate::ukr::binary_f32::{self, BinaryF32};
use crate::ukr::compare_f32::{CompareF32, Relation};
use crate::ukr::convert_f16_f32::ConvertF16F32;
use crate::ukr::convert_f32_f16::ConvertF32F16;
use crate::ukr::dequantize_i8_f32::DequantizeI8F32;
use crate::ukr::dequantize_nbits_f16::DequantizeNBitsF16;
use crate::ukr::interleave_f32_f16::InterleaveF32F16;
use crate::ukr::pack_f32_f16::PackF32F16;
use crate::ukr::pack_rows::PackRows;
use crate::ukr::quantize_f32_i8::QuantizeF32I8;
use crate::ukr::quantize_f32_u8::QuantizeF32U8;
use crate::ukr::rescale_i32_f32::RescaleI32F32;
use crate::ukr::rotate_f32::{Pairs, RotateF32};
use crate::ukr::select::Select;
use crate::ukr::tile_f16::{TileF16, TilesOf};
use crate::ukr::transpose::{self, Transpose};
use crate::ukr::unary_f32::{self, UnaryF32};
use crate::ukr::unpack_i8::UnpackI8;

pub static UNARY_F32: &[Variant<UnaryF32>] = &[
    Variant {
        name: "rvv_abs",
        needs: Needs::RVV,
        spec: unary_f32::Function::Abs,
        run: riscv!(unary_f32::rvv_simple::abs),
    },
    Variant {
        name: "rvv_clip",
        needs: Needs::RVV,
        spec: unary_f32::Function::Clip,
        run: riscv!(unary_f32::rvv_simple::clip),
    },
    Variant {
        name: "rvv_erf",
        needs: Needs::RVV,
        spec: unary_f32::Function::Erf,
        run: riscv!(unary_f32::rvv_erf::erf),
    },
    Variant {
        name: "rvv_exp",
        needs: Needs::RVV,
        spec: unary_f32::Function::Exp,
        run: riscv!(unary_f32::rvv_exp::exp),
    },
    Variant {
        name: "rvv_gelu",
        needs: Needs::RVV,
        spec: unary_f32::Function::Gelu,
        run: riscv!(unary_f32::rvv_gelu::gelu),
    },
    Variant {
        name: "rvv_gelu_tanh",
        needs: Needs::RVV,
        spec: unary_f32::Function::GeluTanh,
        run: riscv!(unary_f32::rvv_gelu_tanh::gelu_tanh),
    },
    Variant {
        name: "rvv_leaky_relu",
        needs: Needs::RVV,
        spec: unary_f32::Function::LeakyRelu,
        run: riscv!(unary_f32::rvv_simple::leaky_relu),
    },
    Variant {
        name: "rvv_neg",
        needs: Needs::RVV,
        spec: unary_f32::Function::Neg,
        run: riscv!(unary_f32::rvv_simple::neg),
    },
    Variant {
        name: "rvv_reciprocal",
        needs: Needs::RVV,
        spec: unary_f32::Function::Reciprocal,
        run: riscv!(unary_f32::rvv_simple::reciprocal),
    },
    Variant {
        name: "rvv_relu",
        needs: Needs::RVV,
        spec: unary_f32::Function::Relu,
        run: riscv!(unary_f32::rvv_simple::relu),
    },
    Variant {
        name: "rvv_sigmoid",
        needs: Needs::RVV,
        spec: unary_f32::Function::Sigmoid,
        run: riscv!(unary_f32::rvv_sigmoid::sigmoid),
    },
    Variant {
        name: "rvv_sqrt",
        needs: Needs::RVV,
        spec: unary_f32::Function::Sqrt,
        run: riscv!(unary_f32::rvv_simple::sqrt),
    },
    Variant {
        name: "rvv_swish",
        needs: Needs::RVV,
        spec: unary_f32::Function::Swish,
        run: riscv!(unary_f32::rvv_sigmoid::swish),
    },
    Variant {
        name: "rvv_tanh",
        needs: Needs::RVV,
        spec: unary_f32::Function::Tanh,
        run: riscv!(unary_f32::rvv_tanh::tanh),
    },
];

pub static BINARY_F32: &[Variant<BinaryF32>] = &[
    Variant { name: "rvv_add", needs: Needs::RVV, spec: binary_f32::Function::Add, run: riscv!(binary_f32::rvv::add) },
    Variant { name: "rvv_sub", needs: Needs::RVV, spec: binary_f32::Function::Sub, run: riscv!(binary_f32::rvv::sub) },
    Variant { name: "rvv_mul", needs: Needs::RVV, spec: binary_f32::Function::Mul, run: riscv!(binary_f32::rvv::mul) },
    Variant { name: "rvv_div", needs: Needs::RVV, spec: binary_f32::Function::Div, run: riscv!(binary_f32::rvv::div) },
    Variant { name: "rvv_min", needs: Needs::RVV, spec: binary_f32::Function::Min, run: riscv!(binary_f32::rvv::min) },
    Variant { name: "rvv_max", needs: Needs::RVV, spec: binary_f32::Function::Max, run: riscv!(binary_f32::rvv::max) },
];

pub static COMPARE_F32: &[Variant<CompareF32>] = &[
    Variant { name: "rvv_equal", needs: Needs::RVV, spec: Relation::Equal, run: riscv!(compare_f32::rvv::equal) },
    Variant { name: "rvv_less", needs: Needs::RVV, spec: Relation::Less, run: riscv!(compare_f32::rvv::less) },
    Variant {
        name: "rvv_less_or_equal",
        needs: Needs::RVV,
        spec: Relation::LessOrEqual,
        run: riscv!(compare_f32::rvv::less_or_equal),
    },
];

pub static SELECT: &[Variant<Select>] = &[
    Variant { name: "rvv_8", needs: Needs::RVV, spec: 1, run: riscv!(select::rvv::bits_8) },
    Variant { name: "rvv_16", needs: Needs::RVV, spec: 2, run: riscv!(select::rvv::bits_16) },
    Variant { name: "rvv_32", needs: Needs::RVV, spec: 4, run: riscv!(select::rvv::bits_32) },
    Variant { name: "rvv_64", needs: Needs::RVV, spec: 8, run: riscv!(select::rvv::bits_64) },
];

pub static QUANTIZE_F32_U8: &[Variant<QuantizeF32U8>] =
    &[Variant { name: "rvv", needs: Needs::RVV, spec: (), run: riscv!(quantize_f32_u8::rvv::run) }];

pub static RESCALE_I32_F32: &[Variant<RescaleI32F32>] =
    &[Variant { name: "rvv", needs: Needs::RVV, spec: (), run: riscv!(rescale_i32_f32::rvv::run) }];

pub static CONVERT_F16_F32: &[Variant<ConvertF16F32>] =
    &[Variant { name: "rvv", needs: Needs::ZVFH, spec: (), run: riscv!(convert_f16_f32::rvv::run) }];

pub static CONVERT_F32_F16: &[Variant<ConvertF32F16>] =
    &[Variant { name: "rvv", needs: Needs::ZVFH, spec: (), run: riscv!(convert_f32_f16::rvv::run) }];

/// A100 takes 17 cycles for each element of a strided load, more than for a scalar load and store.
pub static TRANSPOSE: &[Variant<Transpose>] = &[
    Variant { name: "scalar_8", needs: Needs::RVV_1024, spec: 1, run: Some(transpose::scalar::elements::<u8>) },
    Variant { name: "scalar_16", needs: Needs::RVV_1024, spec: 2, run: Some(transpose::scalar::elements::<u16>) },
    Variant { name: "scalar_32", needs: Needs::RVV_1024, spec: 4, run: Some(transpose::scalar::elements::<u32>) },
    Variant { name: "scalar_64", needs: Needs::RVV_1024, spec: 8, run: Some(transpose::scalar::elements::<u64>) },
    Variant { name: "rvv_8", needs: Needs::RVV, spec: 1, run: riscv!(transpose::rvv::bits_8) },
    Variant { name: "rvv_16", needs: Needs::RVV, spec: 2, run: riscv!(transpose::rvv::bits_16) },
    Variant { name: "rvv_32", needs: Needs::RVV, spec: 4, run: riscv!(transpose::rvv::bits_32) },
    Variant { name: "rvv_64", needs: Needs::RVV, spec: 8, run: riscv!(transpose::rvv::bits_64) },
];

pub static QUANTIZE_F32_I8: &[Variant<QuantizeF32I8>] =
    &[Variant { name: "rvv", needs: Needs::RVV, spec: (), run: riscv!(quantize_f32_i8::rvv::run) }];

pub static UNPACK_I8: &[Variant<UnpackI8>] = &[
    Variant { name: "rvv_4", needs: Needs::RVV, spec: 4, run: riscv!(unpack_i8::rvv::bits_4) },
    Variant { name: "rvv_8", needs: Needs::RVV, spec: 8, run: riscv!(unpack_i8::rvv::bits_8) },
];

pub static DEQUANTIZE_I8_F32: &[Variant<DequantizeI8F32>] =
    &[Variant { name: "rvv", needs: Needs::RVV, spec: (), run: riscv!(dequantize_i8_f32::rvv::run) }];

pub static DEQUANTIZE_NBITS_F16: &[Variant<DequantizeNBitsF16>] = &[
    Variant { name: "ime2_4", needs: Needs::IME2_F16, spec: 4, run: riscv!(dequantize_nbits_f16::ime2::bits_4) },
    Variant { name: "ime2_8", needs: Needs::IME2_F16, spec: 8, run: riscv!(dequantize_nbits_f16::ime2::bits_8) },
];

pub static PACK_F32_F16: &[Variant<PackF32F16>] =
    &[Variant { name: "ime2", needs: Needs::IME2_F16, spec: (), run: riscv!(pack_f32_f16::ime2::run) }];

pub static PACK_ROWS: &[Variant<PackRows>] = &[
    Variant { name: "ime2_8", needs: Needs::IME2, spec: 8, run: riscv!(pack_rows::ime2::eight_rows) },
    Variant { name: "ime2_16", needs: Needs::IME2, spec: 16, run: riscv!(pack_rows::ime2::sixteen_rows) },
];

pub static ROTATE_F32: &[Variant<RotateF32>] = &[
    Variant { name: "rvv_halves", needs: Needs::RVV, spec: Pairs::Halves, run: riscv!(rotate_f32::rvv::halves) },
    Variant {
        name: "rvv_neighbours",
        needs: Needs::RVV,
        spec: Pairs::Neighbours,
        run: riscv!(rotate_f32::rvv::neighbours),
    },
];

pub static TILE_F16: &[Variant<TileF16>] = &[
    Variant { name: "ime2_rows", needs: Needs::IME2_F16, spec: TilesOf::Rows, run: riscv!(tile_f16::ime2::rows) },
    Variant {
        name: "ime2_columns",
        needs: Needs::IME2_F16,
        spec: TilesOf::Columns,
        run: riscv!(tile_f16::ime2::columns),
    },
];

pub static INTERLEAVE_F32_F16: &[Variant<InterleaveF32F16>] =
    &[Variant { name: "ime2", needs: Needs::IME2_F16, spec: (), run: riscv!(interleave_f32_f16::ime2::run) }];
