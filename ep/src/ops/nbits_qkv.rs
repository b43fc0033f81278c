//! `MatMulNBitsQkv`: queries, keys and values of one normalised input, with weights of few bits.
//!
//! | # | inputs | remark |
//! |---|---|---|
//! | 0 | A | f32 or f16 `[..., K]` |
//! | 1 | skip | optional: added to A before the normalisation |
//! | 2 | norm_scale | `[K]`, of the root-mean-square normalisation |
//! | 3, 4, 5 | B, scales, bias of the queries, `Nq` columns | as those of `MatMulNBits`, constant but the bias, which is optional |
//! | 6, 7, 8 | of the keys, `Nkv` columns | likewise |
//! | 9, 10, 11 | of the values, `Nkv` columns | likewise |
//!
//! The outputs are the three products, and optionally the sum of A and skip.

use std::sync::Arc;

use kernels::ops::epilogue::{Activation, Epilogue};
use kernels::ops::matmul_nbits::{Engine, MatMulNBits};
use kernels::pack::NBitsWeights;
use kernels::tensor::{DType, elements};

use super::linear::product_dims;
use super::nbits::{self, Place};
use super::norm::Norm;
use super::{Decline, Lower, MICROSOFT, Op, OpRow, Work};
use crate::plan::{Bind, BindError, Buf};

pub const ROWS: &[OpRow] = &[OpRow {
    domain: MICROSOFT,
    name: "MatMulNBitsQkv",
    versions: 1..=1,
    inputs: 11..=12,
    outputs: 1..=4,
    attrs: &["K", "Nq", "Nkv", "bits", "block_size", "accuracy_level", "epsilon"],
    work: Work::Heavy,
    lower,
}];

/// The first input of each product, and the attribute with the number of its columns.
const PRODUCTS: [(usize, &str); 3] = [(3, "Nq"), (6, "Nkv"), (9, "Nkv")];

struct NBitsQkv {
    dtype: DType,
    norm: Norm,
    weights: Vec<Arc<NBitsWeights>>,
    engine: Engine,
}

fn lower(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let dtype = cx.float_input(0)?;
    let norm = Norm::of_products(cx, 3)?;
    let engine = nbits::engine(cx)?;
    let weights = PRODUCTS.map(|(first, columns)| {
        if cx.has_input(first + 2) {
            cx.dtype_in(first + 2, &[dtype])?;
        }
        let shape = nbits::shape(cx, nbits::size(cx, columns)?)?;
        nbits::pack(cx, engine, shape, Place { codes: first, scales: first + 1, zero_points: None }, dtype)
    });
    let weights = weights.into_iter().collect::<Result<_, _>>()?;
    Ok(Box::new(NBitsQkv { dtype, norm, weights, engine }))
}

impl Op for NBitsQkv {
    fn absorbed_inputs(&self) -> &[usize] {
        &[3, 4, 6, 7, 9, 10]
    }

    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let dims = b.dims(0)?;
        let a = b.temp(DType::F32, elements(&dims))?;
        self.norm.write(b, a)?;
        for (output, (weights, (first, _))) in self.weights.iter().zip(PRODUCTS).enumerate() {
            if output > 0 && !b.has_output(output) {
                continue;
            }
            let shape = weights.shape();
            let (m, out) = product_dims(&dims, [shape.k(), shape.n()], false)?;
            let bias = nbits::bias(b, first + 2, shape.n())?;
            let y = b.output_f32(output, self.dtype, &out)?;
            let epilogue = Epilogue { bias: bias.is_some(), activation: Activation::Identity, residual: None };
            let inputs: Vec<Buf> = [Some(a), bias].into_iter().flatten().collect();
            b.step(MatMulNBits::new(m, self.engine, Arc::clone(weights), epilogue), &inputs, &[y]);
        }
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod tests;
