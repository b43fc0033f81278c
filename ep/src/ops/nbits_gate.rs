//! The gated half of a feed-forward network with weights of few bits: `NBitsGate` of domain `spacemit`, since version 1.
//!
//! `Y = activation(A x G + g) * (A x U + u)`. It has the attributes `K`, `N`, `bits`, `block_size` and `accuracy_level` of
//! `MatMulNBits`, for both weights, and `activation`: `silu`, `gelu` or `gelu_tanh`. Its inputs, with shapes as those of
//! `NBitsLinear`:
//!
//! | # | name | remark |
//! |---|---|---|
//! | 0 | A | f32 or f16 `[..., K]` |
//! | 1, 2, 3, 4 | B, scales, zero_points, bias of G | constant but the bias; zero points and bias optional |
//! | 5, 6, 7, 8 | B, scales, zero_points, bias of U | likewise |

use std::sync::Arc;

use kernels::ops::arithmetic::{Arithmetic, ArithmeticOp};
use kernels::ops::epilogue::{Activation, Epilogue};
use kernels::ops::matmul_nbits::{Engine, Gate, GatedNBits, MatMulNBits};
use kernels::pack::NBitsWeights;
use kernels::tensor::{DType, elements};

use super::linear::product_dims;
use super::nbits::{self, Place};
use super::{Code, Decline, FUSED, Lower, Op, OpRow, Work};
use crate::plan::{Bind, BindError, Buf};

pub const ROWS: &[OpRow] = &[OpRow {
    domain: FUSED,
    name: "NBitsGate",
    versions: 1..=1,
    inputs: 7..=9,
    outputs: 1..=1,
    attrs: &["K", "N", "bits", "block_size", "accuracy_level", "activation"],
    work: Work::Heavy,
    lower,
}];

/// Inputs with the biases.
const BIASES: [usize; 2] = [4, 8];

struct NBitsGate {
    dtype: DType,
    weights: [Arc<NBitsWeights>; 2],
    engine: Engine,
    gate: Gate,
}

fn lower(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let dtype = cx.float_input(0)?;
    for index in BIASES.into_iter().filter(|&index| cx.has_input(index)) {
        cx.dtype_in(index, &[dtype])?;
    }
    let gate = match cx.attr_str("activation", "")? {
        "silu" => Gate::Silu,
        "gelu" => Gate::Gelu,
        "gelu_tanh" => Gate::GeluTanh,
        other => return Err(Decline::new(Code::Attribute, format!("activation '{other}' of a gate is not known"))),
    };
    let shape = nbits::shape(cx, nbits::size(cx, "N")?)?;
    let engine = nbits::engine(cx)?;
    let pack = |first: usize| {
        nbits::pack(cx, engine, shape, Place { codes: first, scales: first + 1, zero_points: Some(first + 2) }, dtype)
    };
    Ok(Box::new(NBitsGate { dtype, weights: [pack(1)?, pack(5)?], engine, gate }))
}

impl Op for NBitsGate {
    fn absorbed_inputs(&self) -> &[usize] {
        &[1, 2, 3, 5, 6, 7]
    }

    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let shape = self.weights[0].shape();
        let (m, out) = product_dims(&b.dims(0)?, [shape.k(), shape.n()], false)?;
        let a = b.input_f32(0)?;
        let mut biases = [None; 2];
        for (bias, input) in biases.iter_mut().zip(BIASES) {
            if b.has_input(input) {
                if elements(&b.dims(input)?) != shape.n() {
                    return Err(BindError::new(format!("input {input} does not fit {} columns", shape.n())));
                }
                *bias = Some(b.input_f32(input)?);
            }
        }
        let y = b.output_f32(0, self.dtype, &out)?;
        if !GatedNBits::fits(self.engine, m) {
            return self.bind_apart(b, m, a, biases, y);
        }
        let weights = self.weights.clone();
        let driver = GatedNBits::new(m, self.engine, self.gate, weights, biases.map(|bias| bias.is_some()));
        let inputs: Vec<Buf> = [Some(a), biases[0], biases[1]].into_iter().flatten().collect();
        b.step(driver, &inputs, &[y]);
        Ok(())
    }
}

impl NBitsGate {
    /// Each product and their product by a step of its own.
    fn bind_apart(
        &self,
        b: &mut Bind<'_>,
        m: usize,
        a: Buf,
        biases: [Option<Buf>; 2],
        y: Buf,
    ) -> Result<(), BindError> {
        let gate = match self.gate {
            Gate::Silu => Activation::Silu,
            Gate::Gelu => Activation::Gelu,
            Gate::GeluTanh => Activation::GeluTanh,
        };
        let len = m * self.weights[0].shape().n();
        let mut sides = [y; 2];
        for (index, activation) in [gate, Activation::Identity].into_iter().enumerate() {
            sides[index] = b.temp(DType::F32, len)?;
            let epilogue = Epilogue { bias: biases[index].is_some(), activation, residual: None };
            let inputs: Vec<Buf> = [Some(a), biases[index]].into_iter().flatten().collect();
            let driver = MatMulNBits::new(m, self.engine, Arc::clone(&self.weights[index]), epilogue);
            b.step(driver, &inputs, &[sides[index]]);
        }
        b.step(Arithmetic::new(ArithmeticOp::Mul, DType::F32, &[len], &[len]), &sides, &[y]);
        Ok(())
    }
}
