//! Mixture of experts, as the CPU provider has it.

use kernels::ops::moe::{ExpertActivation, ExpertWeights, ExpertsDown, ExpertsUp, Router};
use kernels::pack::{PackLayout, PackedWeights, WeightData, WeightSource};
use kernels::tensor::{DType, Dims, elements};

use super::nbits::constant;
use super::{Code, Decline, Lower, MICROSOFT, Op, OpRow, Work};
use crate::ir::Tensor;
use crate::plan::{Bind, BindError, Buf};

pub const ROWS: &[OpRow] = &[OpRow {
    domain: MICROSOFT,
    name: "MoE",
    versions: 1..=1,
    inputs: 5..=6,
    outputs: 1..=1,
    attrs: &[
        "activation_type",
        "activation_alpha",
        "activation_beta",
        "k",
        "normalize_routing_weights",
        "swiglu_fusion",
        "swiglu_limit",
        "swiglu_limit_after_activation",
        "use_sparse_mixer",
    ],
    work: Work::Heavy,
    lower: moe,
}];

struct MixtureOfExperts {
    dtype: DType,
    router: Router,
    activation: ExpertActivation,
    /// The first, and the second, weight of each expert.
    weights: [Vec<ExpertWeights>; 2],
    /// Inputs with the biases.
    biases: [Option<usize>; 2],
    absorbed: &'static [usize],
}

fn unknown<T>(what: impl Into<String>) -> Result<T, Decline> {
    Err(Decline::new(Code::Attribute, what))
}

fn activation(cx: &Lower<'_, '_>) -> Result<ExpertActivation, Decline> {
    if cx.attr_int("use_sparse_mixer", 0)? != 0 || cx.attr_int("swiglu_limit_after_activation", 0)? != 0 {
        return unknown("a sparse mixer, or a limit after the activation, is not supported");
    }
    let fusion = cx.attr_int("swiglu_fusion", 0)?;
    match (cx.attr_str("activation_type", "relu")?, fusion) {
        ("relu", 0) => Ok(ExpertActivation::Relu),
        ("gelu", 0) => Ok(ExpertActivation::Gelu),
        ("silu", 0) => Ok(ExpertActivation::Silu),
        ("identity", 0) => Ok(ExpertActivation::Identity),
        ("swiglu", 1) => Ok(ExpertActivation::SwiGlu {
            alpha: cx.attr_float("activation_alpha", 1.0)?,
            beta: cx.attr_float("activation_beta", 0.0)?,
            limit: cx.attr_float("swiglu_limit", f32::INFINITY)?,
        }),
        (other, fusion) => unknown(format!("activation_type '{other}' with swiglu_fusion {fusion} is not supported")),
    }
}

/// The router of experts whose weights are inputs `weights`, `[experts, n, ..]`.
pub(super) fn router(cx: &Lower<'_, '_>, weights: [usize; 2]) -> Result<Router, Decline> {
    cx.dtype_in(1, &[cx.float_input(0)?])?;
    let [experts, others] = [constant(cx, weights[0])?, constant(cx, weights[1])?].map(|tensor| tensor.dims.first());
    let top = cx.attr_int("k", 1)?;
    let fits = |top: usize| experts == others && experts.is_some_and(|&experts| (1..=experts).contains(&top));
    match (usize::try_from(top).ok().filter(|&top| fits(top)), experts) {
        (Some(top), Some(&experts)) => {
            Ok(Router { experts, top, normalize: cx.attr_bool("normalize_routing_weights", false)? })
        }
        _ => unknown(format!("{top} experts of a token do not fit the weights")),
    }
}

/// Biases at inputs `biases`, `[experts, n]` where they are given.
fn biases(
    cx: &Lower<'_, '_>,
    biases: [usize; 2],
    weights: &[Vec<ExpertWeights>; 2],
) -> Result<[Option<usize>; 2], Decline> {
    let mut given = [None; 2];
    for (side, index) in biases.into_iter().enumerate().filter(|(_, index)| cx.has_input(*index)) {
        cx.dtype_in(index, &[cx.float_input(0)?])?;
        if constant(cx, index)?.dims[..] != [weights[side].len(), weights[side][0].n()] {
            return Err(Decline::new(Code::Input, format!("input {index} is not a bias for each expert")));
        }
        given[side] = Some(index);
    }
    Ok(given)
}

/// The operator of experts with these weights and biases.
pub(super) fn finish(
    cx: &Lower<'_, '_>,
    router: Router,
    weights: [Vec<ExpertWeights>; 2],
    bias_inputs: [usize; 2],
    absorbed: &'static [usize],
) -> Result<Box<dyn Op>, Decline> {
    let (activation, dtype) = (activation(cx)?, cx.float_input(0)?);
    let [up, down] = [&weights[0][0], &weights[1][0]];
    if down.k() != activation.outputs(up.n()) || down.n() != up.k() {
        return Err(Decline::new(Code::Input, "the weights of the experts do not fit each other"));
    }
    let biases = biases(cx, bias_inputs, &weights)?;
    Ok(Box::new(MixtureOfExperts { dtype, router, activation, weights, biases, absorbed }))
}

fn moe(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let router = router(cx, [2, 4])?;
    finish(cx, router, [dense(cx, 2)?, dense(cx, 4)?], [3, 5], &[2, 4])
}

/// The weights of input `index`, `[experts, n, k]`, f32 or f16.
fn dense(cx: &Lower<'_, '_>, index: usize) -> Result<Vec<ExpertWeights>, Decline> {
    cx.dtype_in(index, &[cx.float_input(0)?])?;
    let tensor = constant(cx, index)?;
    let [experts, n, k] = matrices(tensor)?;
    let weight = |expert: usize| {
        let layout = PackLayout::HostF32;
        let plan = || PackedWeights::planned(layout, k, n);
        let packed = cx.packed(&[tensor], &format!("expert {expert} {layout}"), plan, || {
            let values = part(tensor, expert, n * k).to_f32s().unwrap_or_default();
            let source = WeightSource { data: WeightData::F32(&values), k, n, transposed: true };
            PackedWeights::pack(layout, source).unwrap_or_else(|error| {
                tracing::error!(%error, "a weight was not packed");
                plan()
            })
        });
        ExpertWeights::F32(packed)
    };
    Ok((0..experts).map(weight).collect())
}

/// `[experts, n, k]` of a tensor of weights; none may be 0.
pub(super) fn matrices(tensor: &Tensor<'_>) -> Result<[usize; 3], Decline> {
    let dims: Option<[usize; 3]> = tensor.dims[..].try_into().ok().filter(|dims: &[usize; 3]| !dims.contains(&0));
    dims.ok_or_else(|| Decline::new(Code::Rank, "the weights are not a matrix for each expert"))
}

/// Elements `expert * len..` of a tensor, `len` of them.
pub(super) fn part<'t>(tensor: &'t Tensor<'_>, expert: usize, len: usize) -> Tensor<'t> {
    let bytes = len * tensor.dtype.size();
    Tensor::borrowed(tensor.dtype, &[len], &tensor.bytes()[expert * bytes..][..bytes])
}

impl Op for MixtureOfExperts {
    fn absorbed_inputs(&self) -> &[usize] {
        self.absorbed
    }

    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let (dims, logits) = (b.dims(0)?, b.dims(1)?);
        let [up, down] = [&self.weights[0], &self.weights[1]];
        let tokens: Dims = dims.iter().copied().take(dims.len().saturating_sub(1)).collect();
        let tokens = elements(&tokens);
        if dims.last() != Some(&up[0].k()) || logits[..] != [tokens, self.router.experts] {
            let (dims, logits) = (dims.as_slice(), logits.as_slice());
            return Err(BindError::new(format!(
                "tokens of shape {dims:?} and logits of {logits:?} do not fit the experts"
            )));
        }
        let (x, logits) = (b.input_f32(0)?, b.input_f32(1)?);
        let mut biases = [None; 2];
        for (bias, input) in biases.iter_mut().zip(self.biases) {
            *bias = input.map(|input| b.input_f32(input)).transpose()?;
        }
        let inner = b.temp(DType::F32, self.router.routes(tokens) * down[0].k())?;
        let y = b.output_f32(0, self.dtype, &dims)?;
        let operands = |x: Buf, bias: Option<Buf>| -> Vec<Buf> { [x, logits].into_iter().chain(bias).collect() };
        let first = ExpertsUp::new(tokens, self.router, self.activation, up.clone(), biases[0].is_some());
        b.step(first, &operands(x, biases[0]), &[inner]);
        let second = ExpertsDown::new(tokens, self.router, down.clone(), biases[1].is_some());
        b.step(second, &operands(inner, biases[1]), &[y]);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
