//! What rows become on the way through a softmax or a normalisation.

use super::{Variant, riscv};
use crate::isa::Needs;
use crate::ukr::column_max_f32::ColumnMaxF32;
use crate::ukr::exp_columns_f32::ExpColumnsF32;
use crate::ukr::exp_sum_f32::ExpSumF32;
use crate::ukr::normalize_f32::NormalizeF32;
use crate::ukr::reduce_f32::{ReduceF32, Reduction};
use crate::ukr::reduce_rows_f32::{ReduceRowsF32, RowReduction};

pub static REDUCE_F32: &[Variant<ReduceF32>] = &[
    Variant {
        name: "rvv_extremes",
        needs: Needs::RVV,
        spec: Reduction::Extremes,
        run: riscv!(reduce_f32::rvv::extremes),
    },
    Variant {
        name: "rvv_greatest",
        needs: Needs::RVV,
        spec: Reduction::Greatest,
        run: riscv!(reduce_f32::rvv::greatest),
    },
    Variant {
        name: "rvv_lane_squares",
        needs: Needs::RVV,
        spec: Reduction::LaneSquares,
        run: riscv!(reduce_f32::rvv::lane_squares),
    },
    Variant { name: "rvv_moments", needs: Needs::RVV, spec: Reduction::Moments, run: riscv!(reduce_f32::rvv::moments) },
    Variant { name: "rvv_squares", needs: Needs::RVV, spec: Reduction::Squares, run: riscv!(reduce_f32::rvv::squares) },
    Variant { name: "rvv_sum", needs: Needs::RVV, spec: Reduction::Sum, run: riscv!(reduce_f32::rvv::sum) },
];

pub static REDUCE_ROWS_F32: &[Variant<ReduceRowsF32>] = &[
    Variant {
        name: "rvv_greatest",
        needs: Needs::RVV,
        spec: RowReduction::Greatest,
        run: riscv!(reduce_rows_f32::rvv::greatest),
    },
    Variant {
        name: "rvv_moments",
        needs: Needs::RVV,
        spec: RowReduction::Moments,
        run: riscv!(reduce_rows_f32::rvv::moments),
    },
    Variant {
        name: "rvv_squares",
        needs: Needs::RVV,
        spec: RowReduction::Squares,
        run: riscv!(reduce_rows_f32::rvv::squares),
    },
];

pub static EXP_SUM_F32: &[Variant<ExpSumF32>] =
    &[Variant { name: "rvv", needs: Needs::RVV, spec: (), run: riscv!(exp_sum_f32::rvv::run) }];

pub static COLUMN_MAX_F32: &[Variant<ColumnMaxF32>] =
    &[Variant { name: "rvv", needs: Needs::RVV_256_TO_1024, spec: (), run: riscv!(column_max_f32::rvv::run) }];

pub static EXP_COLUMNS_F32: &[Variant<ExpColumnsF32>] =
    &[Variant { name: "rvv", needs: Needs::RVV_256_TO_1024, spec: (), run: riscv!(exp_columns_f32::rvv::run) }];

pub static NORMALIZE_F32: &[Variant<NormalizeF32>] =
    &[Variant { name: "rvv", needs: Needs::RVV, spec: (), run: riscv!(normalize_f32::rvv::run) }];
