//! `MatMulNBits`, and the linear layers that fusion rules make of it: `NBitsLinear` of domain `spacemit`, since version 1.
//!
//! `NBitsLinear` has the attributes `K`, `N`, `bits`, `block_size` and `accuracy_level` of `MatMulNBits`, those of the
//! `activation` of `Linear`, and `residual_first`. Its inputs:
//!
//! | # | name        | shape        | remark |
//! |---|-------------|--------------|--------|
//! | 0 | A           | `[..., K]`   | f32 or f16, rank 1 or more |
//! | 1 | B           | `[N, blocks, block_size * bits / 8]` | constant u8 |
//! | 2 | scales      | `[N, blocks]` | constant, type of A |
//! | 3 | zero_points | `[N, ceil(blocks * bits / 8)]` as u8, `[N, blocks]` as floats | constant, optional |
//! | 4 | bias        | `[N]`        | optional |
//! | 5 | residual    | broadcasts with the product by ONNX's rules | optional |
//!
//! With an `accuracy_level` of 4 the rows of `A` are rounded to int8 on the way; see [`Compute::Int8`](kernels::ops::matmul_nbits::Compute::Int8).

use std::sync::Arc;

use kernels::ops::matmul_nbits::{Engine, MatMulNBits};
use kernels::pack::NBitsWeights;
use kernels::tensor::DType;

use super::linear::{ending, product_dims};
use super::nbits::{self, Place};
use super::product::Ending;
use super::{Code, Decline, FUSED, Lower, MICROSOFT, Op, OpRow, Work};
use crate::plan::{Bind, BindError, Buf};

pub const ROWS: &[OpRow] = &[
    OpRow {
        domain: MICROSOFT,
        name: "MatMulNBits",
        versions: 1..=1,
        inputs: 3..=6,
        outputs: 1..=1,
        attrs: &["K", "N", "bits", "block_size", "accuracy_level", "weight_prepacked"],
        work: Work::Heavy,
        lower: matmul_nbits,
    },
    OpRow {
        domain: FUSED,
        name: "NBitsLinear",
        versions: 1..=1,
        inputs: 3..=6,
        outputs: 1..=1,
        attrs: &[
            "K",
            "N",
            "bits",
            "block_size",
            "accuracy_level",
            "activation",
            "activation_alpha",
            "activation_low",
            "activation_high",
            "residual_first",
        ],
        work: Work::Heavy,
        lower: nbits_linear,
    },
];

/// `f(A x B)` with `B` of few bits.
pub(super) struct NBitsLinear {
    pub dtype: DType,
    pub weights: Arc<NBitsWeights>,
    pub engine: Engine,
    pub ending: Ending,
}

fn matmul_nbits(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    if cx.has_input(4) {
        return Err(Decline::new(Code::Input, "an order of the rows (g_idx) is not supported"));
    }
    if cx.attr_int("weight_prepacked", 0)? != 0 {
        return Err(Decline::new(Code::Attribute, "weights packed for another provider are not supported"));
    }
    let bias = cx.has_input(5).then_some(5);
    lower(cx, Ending { bias, ..Ending::default() })
}

fn nbits_linear(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    if cx.has_input(5) {
        cx.dtype_in(5, &[cx.float_input(0)?])?;
    }
    lower(cx, ending(cx, 4)?)
}

fn lower(cx: &Lower<'_, '_>, ending: Ending) -> Result<Box<dyn Op>, Decline> {
    let dtype = cx.float_input(0)?;
    if let Some(bias) = ending.bias {
        cx.dtype_in(bias, &[dtype])?;
    }
    let place = Place { codes: 1, scales: 2, zero_points: Some(3) };
    let engine = nbits::engine(cx)?;
    let weights = nbits::pack(cx, engine, nbits::shape(cx, nbits::size(cx, "N")?)?, place, dtype)?;
    Ok(Box::new(NBitsLinear { dtype, weights, engine, ending }))
}

impl Op for NBitsLinear {
    fn absorbed_inputs(&self) -> &[usize] {
        &[1, 2, 3]
    }

    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let shape = self.weights.shape();
        let (m, out) = product_dims(&b.dims(0)?, [shape.k(), shape.n()], false)?;
        let a = b.input_f32(0)?;
        self.ending.output(b, self.dtype, &out, |b, epilogue, operands, y| {
            let driver = MatMulNBits::new(m, self.engine, Arc::clone(&self.weights), epilogue);
            let inputs: Vec<Buf> = [a].into_iter().chain(operands).collect();
            b.step(driver, &inputs, &[y]);
        })
    }
}

#[cfg(test)]
mod tests;
