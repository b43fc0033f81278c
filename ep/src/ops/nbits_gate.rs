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
use kernels::tensor::DType;

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

/// Two products of one left-hand side, one of them behind an activation, multiplied with each other.
pub(super) struct Gated {
    dtype: DType,
    weights: [Arc<NBitsWeights>; 2],
    /// Inputs with the biases, which may be left out.
    biases: [usize; 2],
    engine: Engine,
    gate: Gate,
}

fn lower(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let gate = match cx.attr_str("activation", "")? {
        "silu" => Gate::Silu,
        "gelu" => Gate::Gelu,
        "gelu_tanh" => Gate::GeluTanh,
        other => return Err(Decline::new(Code::Attribute, format!("activation '{other}' of a gate is not known"))),
    };
    Ok(Box::new(Gated::lower(cx, gate, [1, 5], true)?))
}

impl Gated {
    /// Weights that begin at these inputs: codes, scales, zero points where there is an input for them, bias.
    pub(super) fn lower(cx: &Lower<'_, '_>, gate: Gate, firsts: [usize; 2], zeros: bool) -> Result<Self, Decline> {
        let dtype = cx.float_input(0)?;
        let biases = firsts.map(|first| first + 2 + usize::from(zeros));
        for index in biases.into_iter().filter(|&index| cx.has_input(index)) {
            cx.dtype_in(index, &[dtype])?;
        }
        let shape = nbits::shape(cx, nbits::size(cx, "N")?)?;
        let engine = nbits::engine(cx)?;
        let pack = |first: usize| {
            let zero_points = zeros.then_some(first + 2);
            nbits::pack(cx, engine, shape, Place { codes: first, scales: first + 1, zero_points }, dtype)
        };
        let weights = [pack(firsts[0])?, pack(firsts[1])?];
        Ok(Self { dtype, weights, biases, engine, gate })
    }

    /// Adds the steps from the left-hand side `a`, f32 of shape `dims`, to output 0.
    pub(super) fn write(&self, b: &mut Bind<'_>, a: Buf, dims: &[usize]) -> Result<(), BindError> {
        let shape = self.weights[0].shape();
        let (m, out) = product_dims(dims, [shape.k(), shape.n()], false)?;
        let [gate, other] = self.biases.map(|input| nbits::bias(b, input, shape.n()));
        let biases = [gate?, other?];
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

impl Op for Gated {
    fn absorbed_inputs(&self) -> &[usize] {
        &[1, 2, 3, 5, 6, 7]
    }

    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let (dims, a) = (b.dims(0)?, b.input_f32(0)?);
        self.write(b, a, &dims)
    }
}
