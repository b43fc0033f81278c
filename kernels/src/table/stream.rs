//! Products with rows that are read once and in place. Other cores run the portable form in [`crate::vector`].

use super::{Variant, riscv};
use crate::isa::Needs;
use crate::tensor::DType;
use crate::ukr::row_dots_f32::RowDotsF32;
use crate::ukr::row_sums_f32::RowSumsF32;
use crate::ukr::{InPlace, Widths};

/// The fastest first.
pub static ROW_DOTS_F32: &[Variant<RowDotsF32>] = &[
    Variant {
        name: "ime2_f32_64",
        needs: Needs::IME2,
        spec: InPlace { of: DType::F32, widths: Widths::Dense(64), group: 32, rounds: false },
        run: riscv!(row_dots_f32::ime2::f32_64),
    },
    Variant {
        name: "ime2_f32_128",
        needs: Needs::IME2,
        spec: InPlace { of: DType::F32, widths: Widths::Dense(128), group: 16, rounds: false },
        run: riscv!(row_dots_f32::ime2::f32_128),
    },
    Variant {
        name: "ime2_f16_64",
        needs: Needs::IME2_F16,
        spec: InPlace { of: DType::F16, widths: Widths::MultipleOf(64), group: 32, rounds: true },
        run: riscv!(row_dots_f32::ime2_f16::f16_64),
    },
    Variant {
        name: "rvv_f32",
        needs: Needs::RVV,
        spec: InPlace { of: DType::F32, widths: Widths::Any, group: 8, rounds: false },
        run: riscv!(row_dots_f32::rvv::f32),
    },
    Variant {
        name: "rvv_f16",
        needs: Needs::ZVFH,
        spec: InPlace { of: DType::F16, widths: Widths::Any, group: 8, rounds: false },
        run: riscv!(row_dots_f32::rvv::f16),
    },
];

/// The fastest first; the last ones of an element take any number of rows.
pub static ROW_SUMS_F32: &[Variant<RowSumsF32>] = &[
    Variant {
        name: "ime2_f16_64",
        needs: Needs::IME2_F16,
        spec: InPlace { of: DType::F16, widths: Widths::MultipleOf(64), group: 64, rounds: true },
        run: riscv!(row_sums_f32::ime2::f16_64),
    },
    Variant {
        name: "rvv_f32",
        needs: Needs::RVV,
        spec: InPlace { of: DType::F32, widths: Widths::Any, group: 1, rounds: false },
        run: riscv!(row_sums_f32::rvv::f32),
    },
    Variant {
        name: "rvv_f16",
        needs: Needs::ZVFH,
        spec: InPlace { of: DType::F16, widths: Widths::Any, group: 1, rounds: false },
        run: riscv!(row_sums_f32::rvv::f16),
    },
];
