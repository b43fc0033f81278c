//! The linear layers that fusion rules make: domain `spacemit`, `Linear` and `QLinear`, since version 1.
//!
//! Both compute `Y = f(A x B)` with a constant `B`, in this order: product, scale, bias, then residual and activation.
//!
//! **`Linear`** (float): inputs
//!
//! | # | name     | shape        | remark |
//! |---|----------|--------------|--------|
//! | 0 | A        | `[..., K]`   | f32 or f16, rank 1 or more |
//! | 1 | B        | `[K, N]`     | constant, type of A; `[N, K]` with `transB` = 1 |
//! | 2 | bias     | `[N]`        | optional |
//! | 3 | residual | broadcasts with the product by ONNX's rules | optional |
//!
//! **`QLinear`** (dynamic or static int8; the product is exact, all that follows is f32): inputs
//!
//! | # | name     | shape           | remark |
//! |---|----------|-----------------|--------|
//! | 0 | A        | `[..., K]`      | u8 or i8 |
//! | 1 | a_scale  | scalar or `[1]` | f32 |
//! | 2 | a_zp     | scalar or `[1]` | type of A; absent: 0 |
//! | 3 | B        | `[K, N]`        | constant u8 or i8; `[N, K]` with `transB` = 1 |
//! | 4 | b_scale  | scalar, `[1]` or `[N]` | constant f32 |
//! | 5 | b_zp     | scalar, `[1]` or `[N]` | constant, type of B; absent: 0 |
//! | 6 | bias     | `[N]`           | f32, optional |
//! | 7 | residual | broadcasts with the product by ONNX's rules | f32, optional |
//!
//! Output of both: `Y`, `[..., N]`, or what a residual added last broadcasts that to; f32 (`Linear`: type of A).
//! Attributes of both:
//!
//! | name | type | default | meaning |
//! |---|---|---|---|
//! | activation | string | `""` | `relu`, `gelu`, `gelu_tanh`, `silu`, `quick_gelu`, `sigmoid`, `tanh`, `clip` or none |
//! | activation_alpha | float | 1.702 | of `quick_gelu`: `x sigmoid(alpha x)` |
//! | activation_low, activation_high | float | -inf, +inf | bounds of `clip` |
//! | alpha | float | 1 | scales the product |
//! | transB | int | 0 | B is stored transposed |
//! | residual_first | int | 0 | 1: the residual is added before the activation, 0: after it |

use std::sync::Arc;

use kernels::isa::Target;
use kernels::ops::epilogue::Position;
use kernels::ops::matmul::MatMul;
use kernels::pack::PackedWeights;
use kernels::tensor::{DType, Dims, elements};

use super::product::{self, Ending, ResidualInput};
use super::quantized_product::{Left, Output, QuantizedProduct, Right, constant_scales};
use super::{Code, Decline, FUSED, Lower, Op, OpRow, Work};
use crate::plan::{Bind, BindError, Buf};

pub const ROWS: &[OpRow] = &[
    OpRow {
        domain: FUSED,
        name: "Linear",
        versions: 1..=1,
        inputs: 2..=4,
        outputs: 1..=1,
        attrs: ATTRS,
        work: Work::Heavy,
        lower: linear,
    },
    OpRow {
        domain: FUSED,
        name: "QLinear",
        versions: 1..=1,
        inputs: 5..=8,
        outputs: 1..=1,
        attrs: ATTRS,
        work: Work::Heavy,
        lower: q_linear,
    },
];

const ATTRS: &[&str] =
    &["activation", "activation_alpha", "activation_low", "activation_high", "alpha", "transB", "residual_first"];

/// `f(alpha * A x B)` with packed `B`.
pub(super) struct Linear {
    pub target: Target,
    pub dtype: DType,
    pub weights: Arc<PackedWeights>,
    /// `A` is a matrix `[k, m]`.
    pub a_transposed: bool,
    pub alpha: f32,
    pub ending: Ending,
}

fn linear(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let dtype = cx.float_input(0)?;
    for index in (1..4).filter(|&index| cx.has_input(index)) {
        cx.dtype_in(index, &[dtype])?;
    }
    let b = product::constant_matrix(cx, 1)
        .ok_or_else(|| Decline::new(Code::Constant, "the weight is not a constant matrix"))?;
    Ok(Box::new(Linear {
        target: *cx.target(),
        dtype,
        weights: product::pack_float(cx, b, cx.attr_bool("transB", false)?),
        a_transposed: false,
        alpha: cx.attr_float("alpha", 1.0)?,
        ending: ending(cx, 2)?,
    }))
}

/// The ending of a fused node whose bias is input `first` and whose residual is the next one.
pub(super) fn ending(cx: &Lower<'_, '_>, first: usize) -> Result<Ending, Decline> {
    let before = cx.attr_bool("residual_first", false)?;
    let position = if before { Position::BeforeActivation } else { Position::AfterActivation };
    let residual = ResidualInput { input: first + 1, position, factor: 1.0 };
    Ok(Ending {
        bias: cx.has_input(first).then_some(first),
        activation: product::activation(cx)?,
        residual: cx.has_input(first + 1).then_some(residual),
    })
}

impl Op for Linear {
    fn absorbed_inputs(&self) -> &[usize] {
        &[1]
    }

    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let (m, out) = output_dims(&b.dims(0)?, &self.weights, self.a_transposed)?;
        let a = product::left_hand_side(b, &self.weights)?;
        self.ending.output(b, self.dtype, &out, |b, epilogue, operands, y| {
            let driver =
                MatMul::new(&self.target, m, self.a_transposed, self.alpha, Arc::clone(&self.weights), epilogue);
            let inputs: Vec<Buf> = [a].into_iter().chain(operands).collect();
            b.step(driver, &inputs, &[y]);
        })
    }
}

/// Rows of the product and shape of its output for a left-hand side of shape `a`.
pub(super) fn output_dims(a: &[usize], weights: &PackedWeights, transposed: bool) -> Result<(usize, Dims), BindError> {
    product_dims(a, [weights.k(), weights.n()], transposed)
}

/// [`output_dims`] for a weight of these rows and columns.
pub(super) fn product_dims(a: &[usize], [k, n]: [usize; 2], transposed: bool) -> Result<(usize, Dims), BindError> {
    let (mut out, depth) = match (a, transposed) {
        (&[depth, m], true) => (Dims::from_slice(&[m]), depth),
        (&[ref rows @ .., depth], false) => (Dims::from_slice(rows), depth),
        _ => return Err(BindError::new(format!("a product cannot take a left-hand side of shape {a:?}"))),
    };
    if depth != k {
        return Err(BindError::new(format!("a left-hand side of shape {a:?} does not fit a weight of {k} x {n}")));
    }
    let m = elements(&out);
    out.push(n);
    Ok((m, out))
}

fn q_linear(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    cx.dtype_in(1, &[DType::F32])?;
    for index in [6, 7].into_iter().filter(|&index| cx.has_input(index)) {
        cx.dtype_in(index, &[DType::F32])?;
    }
    let left = Left::given(cx, 0, 2, Some(1))?;
    let right = Right::lower(cx, 3, 5, cx.attr_bool("transB", false)?)?;
    let alpha = cx.attr_float("alpha", 1.0)?;
    let mut b_scales = constant_scales(cx, 4, right.weights.n())?;
    b_scales.iter_mut().for_each(|scale| *scale *= alpha);
    let target = *cx.target();
    Ok(Box::new(QuantizedProduct { target, left, right, output: Output::F32 { b_scales, ending: ending(cx, 6)? } }))
}

#[cfg(test)]
mod tests;
