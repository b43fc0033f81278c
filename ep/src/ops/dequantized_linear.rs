//! The linear layer that fusion rules make of a product with a dequantised constant: `DequantizedLinear` of domain
//! `spacemit`, since version 1. The weight stays in 4 or 8 bits.
//!
//! It has the attributes of `Linear` but `alpha`, and `axis` and `block_size` of the `DequantizeLinear` that it takes in.
//! Its inputs:
//!
//! | # | name        | shape        | remark |
//! |---|-------------|--------------|--------|
//! | 0 | A           | `[..., K]`   | f32 or f16, rank 1 or more |
//! | 1 | B           | `[K, N]`     | constant i4, u4, i8 or u8; `[N, K]` with `transB` = 1 |
//! | 2 | scale       | scalar, `[N]`, or that of B with blocks along K | constant, type of A |
//! | 3 | zero_point  | as scale     | constant, type of B; absent: 0 |
//! | 4 | bias        | `[N]`        | optional |
//! | 5 | residual    | broadcasts with the product by ONNX's rules | optional |

use std::sync::Arc;

use kernels::ops::matmul_nbits::{Compute, Engine};
use kernels::pack::{Codes, NBitsLayout, NBitsShape, NBitsWeights};
use kernels::tensor::DType;

use super::linear::ending;
use super::nbits::constant;
use super::nbits_linear::NBitsLinear;
use super::{Code, Decline, FUSED, Lower, Op, OpRow, Work};
use crate::ir::Tensor;

pub const ROWS: &[OpRow] = &[OpRow {
    domain: FUSED,
    name: "DequantizedLinear",
    versions: 1..=1,
    inputs: 3..=6,
    outputs: 1..=1,
    attrs: &[
        "axis",
        "block_size",
        "transB",
        "activation",
        "activation_alpha",
        "activation_low",
        "activation_high",
        "residual_first",
    ],
    work: Work::Heavy,
    lower,
}];

fn lower(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let dtype = cx.float_input(0)?;
    for index in (4..6).filter(|&index| cx.has_input(index)) {
        cx.dtype_in(index, &[dtype])?;
    }
    let codes = constant(cx, 1)?;
    let scales = constant(cx, 2)?;
    let zero_points = cx.has_input(3).then(|| constant(cx, 3)).transpose()?;
    if scales.dtype != dtype || zero_points.is_some_and(|zero_points| zero_points.dtype != codes.dtype) {
        return Err(Decline::new(Code::DType, "the types of scale and zero point do not fit"));
    }
    if zero_points.is_some_and(|zero_points| zero_points.dims != scales.dims) {
        return Err(Decline::new(Code::Input, "the zero point has not the shape of the scale"));
    }
    let weight = Weight::lower(cx, codes, scales)?;
    let engine = Engine::new(cx.target(), Compute::F32);
    let weights = weight.pack(cx, engine.layout(), codes, scales, zero_points);
    Ok(Box::new(NBitsLinear { dtype, weights, engine, ending: ending(cx, 4)? }))
}

/// How the tensors of a weight are to be read.
struct Weight {
    shape: NBitsShape,
    signed: bool,
    /// Codes from one row, and from one column, of the product's `B` to the next.
    code_strides: [usize; 2],
    /// Scales from one block, and from one column, to the next.
    scale_strides: [usize; 2],
}

impl Weight {
    fn lower(cx: &Lower<'_, '_>, codes: &Tensor<'_>, scales: &Tensor<'_>) -> Result<Self, Decline> {
        let (bits, signed) = match codes.dtype {
            DType::I4 => (4, true),
            DType::U4 => (4, false),
            DType::I8 => (8, true),
            DType::U8 => (8, false),
            other => return Err(Decline::new(Code::DType, format!("a weight of type {other} is not supported"))),
        };
        let transposed = cx.attr_bool("transB", false)?;
        let (k, n) = match (&codes.dims[..], transposed) {
            (&[k, n], false) | (&[n, k], true) => (k, n),
            _ => return Err(Decline::new(Code::Rank, "the weight is not a matrix")),
        };
        let rows = usize::from(transposed);
        let axis = cx.attr_int("axis", 1)?;
        let along = |dimension: usize| axis == dimension as i64 || axis + 2 == dimension as i64;
        let unknown = || Decline::new(Code::Input, "the scales are neither those of columns nor of blocks of them");
        let block = usize::try_from(cx.attr_int("block_size", 0)?).map_err(|_| unknown())?;
        let shape = match block {
            0 => NBitsShape::per_column(k, n, bits),
            block => NBitsShape::new(k, n, bits, block),
        };
        let shape = shape.ok_or_else(|| {
            Decline::new(Code::Attribute, format!("a weight of {k} x {n} in blocks of {block} is not supported"))
        })?;
        let blocks = shape.blocks();
        let scale_strides = match (block, &scales.dims[..]) {
            (0, dims) if dims.iter().product::<usize>() == 1 => [0, 0],
            (0, &[count]) if count == n && along(1 - rows) => [0, 1],
            (1.., &[b, columns]) if !transposed && along(0) && b == blocks && columns == n => [n, 1],
            (1.., &[columns, b]) if transposed && along(1) && b == blocks && columns == n => [1, blocks],
            _ => return Err(unknown()),
        };
        let code_strides = if transposed { [1, k] } else { [n, 1] };
        Ok(Self { shape, signed, code_strides, scale_strides })
    }

    fn pack(
        &self,
        cx: &Lower<'_, '_>,
        layout: NBitsLayout,
        codes: &Tensor<'_>,
        scales: &Tensor<'_>,
        zero_points: Option<&Tensor<'_>>,
    ) -> Arc<NBitsWeights> {
        let tensors: Vec<&Tensor<'_>> = [codes, scales].into_iter().chain(zero_points).collect();
        let plan = || NBitsWeights::planned(layout, self.shape);
        let key = format!("dequantized {} {layout} {:?} {:?}", self.shape, self.code_strides, self.scale_strides);
        cx.packed(&tensors, &key, plan, || {
            let zero_points: Vec<f32> = match zero_points {
                Some(tensor) => (0..tensor.elements()).map(|index| self.unsigned(tensor, index)).collect(),
                None => vec![if self.signed { self.shape.middle() } else { 0.0 }; scales.elements()],
            };
            let [row_stride, column_stride] = self.code_strides;
            let codes = Codes { bytes: codes.bytes(), signed: self.signed, row_stride, column_stride };
            let scales = self.by_column(&scales.to_f32s().unwrap_or_default());
            NBitsWeights::pack(layout, self.shape, codes, &scales, Some(&self.by_column(&zero_points))).unwrap_or_else(
                |error| {
                    tracing::error!(%error, "a weight was not packed");
                    plan()
                },
            )
        })
    }

    /// Element `index` of a tensor of codes, moved up to be unsigned.
    fn unsigned(&self, tensor: &Tensor<'_>, index: usize) -> f32 {
        let bits = self.shape.bits();
        let code = tensor.bytes()[index * bits / 8] >> (index * bits % 8) & (u8::MAX >> (8 - bits));
        f32::from(if self.signed { code ^ (1 << (bits - 1)) } else { code })
    }

    /// Parameters of all blocks of all columns, `[n, blocks]`.
    fn by_column(&self, values: &[f32]) -> Vec<f32> {
        let [block_stride, column_stride] = self.scale_strides;
        let blocks = self.shape.blocks();
        let column =
            |column: usize| (0..blocks).map(move |block| values[block * block_stride + column * column_stride]);
        (0..self.shape.n()).flat_map(column).collect()
    }
}

#[cfg(test)]
mod tests;
