//! Mixture of experts with weights of few bits, as the CPU provider has it.

use std::sync::Arc;

use kernels::ops::moe::ExpertWeights;
use kernels::pack::{Codes, NBitsLayout, NBitsShape, NBitsWeights};
use kernels::tensor::DType;

use super::moe::{finish, matrices, part, router};
use super::nbits::{self, constant};
use super::{Code, Decline, Lower, MICROSOFT, Op, OpRow, Work};
use crate::ir::Tensor;

pub const ROWS: &[OpRow] = &[OpRow {
    domain: MICROSOFT,
    name: "QMoE",
    versions: 1..=1,
    inputs: 7..=13,
    outputs: 1..=1,
    attrs: &[
        "accuracy_level",
        "activation_type",
        "activation_alpha",
        "activation_beta",
        "block_size",
        "expert_weight_bits",
        "k",
        "normalize_routing_weights",
        "quant_type",
        "swiglu_fusion",
        "swiglu_limit",
        "swiglu_limit_after_activation",
        "use_sparse_mixer",
        "weights_prepacked",
    ],
    work: Work::Heavy,
    lower,
}];

fn lower(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let unknown = |what: &str| Err(Decline::new(Code::Attribute, what));
    if cx.attr_str("quant_type", "int")? != "int" || cx.attr_int("weights_prepacked", -1)? > 0 {
        return unknown("only weights of integers, not packed for another provider, are supported");
    }
    if !cx.attr_bool("normalize_routing_weights", false)? {
        return unknown("providers disagree about weights of experts that are not normalised");
    }
    if (8..11).any(|index| cx.has_input(index)) {
        return Err(Decline::new(Code::Input, "a third weight of each expert is not supported"));
    }
    let router = router(cx, [2, 5])?;
    let weights = [experts(cx, [2, 3, 11])?, experts(cx, [5, 6, 12])?];
    finish(cx, router, weights, [4, 7], &[2, 3, 5, 6, 11, 12])
}

/// The weights whose codes, scales and optional zero points are inputs `inputs`: u8 `[experts, n, k * bits / 8]`, and one for
/// each column, or for each block of a column.
fn experts(cx: &Lower<'_, '_>, inputs: [usize; 3]) -> Result<Vec<ExpertWeights>, Decline> {
    let [codes, scales, zero_points] = inputs;
    cx.dtype_in(codes, &[DType::U8])?;
    cx.dtype_in(scales, &[cx.float_input(0)?])?;
    let zero_points = match cx.has_input(zero_points) {
        true => {
            cx.dtype_in(zero_points, &[DType::U8])?;
            Some(constant(cx, zero_points)?)
        }
        false => None,
    };
    let source = Experts { codes: constant(cx, codes)?, scales: constant(cx, scales)?, zero_points };
    let (bits, block) = (cx.attr_int("expert_weight_bits", 4)?, cx.attr_int("block_size", 0)?);
    let [experts, n, row_bytes] = matrices(source.codes)?;
    let unknown =
        || Decline::new(Code::Attribute, format!("weights of {bits} bits in blocks of {block} are not known"));
    let width = usize::try_from(bits).ok().filter(|bits| matches!(bits, 2 | 4 | 8)).ok_or_else(unknown)?;
    let k = row_bytes * 8 / width;
    let shape = match usize::try_from(block).map_err(|_| unknown())? {
        0 => NBitsShape::per_column(k, n, width),
        block => NBitsShape::new(k, n, width, block).filter(|_| block.is_power_of_two() && k.is_multiple_of(block)),
    };
    let shape = shape.ok_or_else(unknown)?;
    if !source.fits(experts, &shape, block == 0) {
        return Err(Decline::new(Code::Input, format!("scales or zero points are not those of experts of {shape}")));
    }
    let engine = nbits::engine(cx)?;
    let pack = |expert| ExpertWeights::NBits(engine, source.pack(cx, engine.layout(), expert, shape, block == 0));
    Ok((0..experts).map(pack).collect())
}

/// The tensors of the weights of all experts.
struct Experts<'a, 'w> {
    codes: &'a Tensor<'w>,
    scales: &'a Tensor<'w>,
    zero_points: Option<&'a Tensor<'w>>,
}

impl Experts<'_, '_> {
    /// Whether there are as many scales and zero points as `experts` weights of this shape need.
    fn fits(&self, experts: usize, shape: &NBitsShape, by_column: bool) -> bool {
        let scales = self.scales.elements() == experts * shape.n() * shape.blocks();
        let zero_bytes = experts * Self::zero_rows(shape, by_column) * Self::zero_row_bytes(shape, by_column);
        scales && self.zero_points.is_none_or(|zero_points| zero_points.elements() == zero_bytes)
    }

    /// Zero points that are packed without a gap: those of all columns, or of the blocks of one column.
    fn zero_row(shape: &NBitsShape, by_column: bool) -> usize {
        if by_column { shape.n() } else { shape.blocks() }
    }

    fn zero_row_bytes(shape: &NBitsShape, by_column: bool) -> usize {
        (Self::zero_row(shape, by_column) * shape.bits()).div_ceil(8)
    }

    fn zero_rows(shape: &NBitsShape, by_column: bool) -> usize {
        if by_column { 1 } else { shape.n() }
    }

    fn pack(
        &self,
        cx: &Lower<'_, '_>,
        layout: NBitsLayout,
        expert: usize,
        shape: NBitsShape,
        by_column: bool,
    ) -> Arc<NBitsWeights> {
        let tensors: Vec<&Tensor<'_>> = [self.codes, self.scales].into_iter().chain(self.zero_points).collect();
        let plan = || NBitsWeights::planned(layout, shape);
        cx.packed(&tensors, &format!("expert {expert} {shape} {layout}"), plan, || {
            let (k, n) = (shape.k(), shape.n());
            let bytes = part(self.codes, expert, n * k * shape.bits() / 8);
            let scales = part(self.scales, expert, n * shape.blocks()).to_f32s().unwrap_or_default();
            let zero_points = self.zero_points.map(|zero_points| {
                let (row, row_bytes) = (Self::zero_row(&shape, by_column), Self::zero_row_bytes(&shape, by_column));
                let bytes = part(zero_points, expert, Self::zero_rows(&shape, by_column) * row_bytes);
                nbits::unpack(bytes.bytes(), row, shape.bits())
            });
            let codes = Codes { bytes: bytes.bytes(), signed: false, row_stride: 1, column_stride: k };
            NBitsWeights::pack(layout, shape, codes, &scales, zero_points.as_deref()).unwrap_or_else(|error| {
                tracing::error!(%error, "a weight was not packed");
                plan()
            })
        })
    }
}

#[cfg(test)]
mod tests;
