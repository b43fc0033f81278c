//! com.microsoft GatedDeltaNet: linear attention over tokens, with what stands around it in the models that have it.
//!
//! Inputs: query `[tokens, q_heads, key_width]`, key like query, value `[tokens, v_heads, value_width]`, or all three side by
//! side as query `[tokens, width]`; cu_seqlens; decay `[tokens, v_heads]` or `[tokens, v_heads, key_width]`; beta
//! `[tokens, v_heads]`; initial_state `[batch, v_heads, value_width, key_width]`, a_log `[v_heads]` and dt_bias, both f32. The
//! tokens may be two axes, `batch, tokens`.

mod gates;
mod sizes;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use kernels::mem::AlignedBuf;
use kernels::ops::linear_attention::{Decay, LinearAttention};
use kernels::ops::norm::{Norm, NormKind};
use kernels::ops::strided_copy::StridedCopy;
use kernels::tensor::{DType, Dims, elements};

use self::gates::DecayGate;
use self::sizes::Sizes;
use super::{Code, Decline, Lower, MICROSOFT, Op, OpRow, Work};
use crate::plan::{Bind, BindError, Buf};

pub const ROWS: &[OpRow] = &[OpRow {
    domain: MICROSOFT,
    name: "GatedDeltaNet",
    versions: 1..=1,
    inputs: 1..=9,
    outputs: 1..=2,
    attrs: &[
        "beta_activation",
        "chunk_size",
        "gate_activation",
        "gate_lower_bound",
        "qk_l2_norm",
        "scale",
        "state_update_capacity",
        "update_rule",
    ],
    work: Work::Heavy,
    lower,
}];

const QUERY: usize = 0;
const KEY: usize = 1;
const VALUE: usize = 2;
const SEQUENCES: usize = 3;
const DECAY: usize = 4;
const BETA: usize = 5;
const STATE: usize = 6;
const A_LOG: usize = 7;
const DT_BIAS: usize = 8;

/// What is added to the square of a length, so that a vector of zeros has one.
const LENGTH_EPSILON: f32 = 1e-12;

struct GatedDeltaNet {
    dtype: DType,
    /// 0: one over the root of the width of a key.
    scale: f32,
    decay: Option<DecayGate>,
    beta: Option<Beta>,
    /// Queries and keys are scaled to length one.
    normalize: bool,
}

#[derive(Clone, Copy)]
enum Beta {
    Plain,
    Sigmoid,
}

fn lower(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let unknown = |name: &str, value: &str| Decline::new(Code::Attribute, format!("{name} '{value}' is not known"));
    if cx.has_input(SEQUENCES) {
        return Err(Decline::new(Code::Input, "sequences of several lengths are not supported"));
    }
    if cx.attr_int("state_update_capacity", 0)? != 0 {
        return Err(Decline::new(Code::Attribute, "updates of the state are not recorded"));
    }
    let (decays, delta) = match cx.attr_str("update_rule", "gated_delta")? {
        "linear" => (false, false),
        "gated" => (true, false),
        "delta" => (false, true),
        "gated_delta" => (true, true),
        other => return Err(unknown("update_rule", other)),
    };
    let dtype = cx.float_input(QUERY)?;
    for index in [KEY, VALUE] {
        if cx.has_input(KEY) || cx.has_input(VALUE) {
            cx.dtype_in(index, &[dtype])?;
        }
    }
    let state_needed = !cx.has_input(KEY) || cx.rank(QUERY) != Some(4);
    if state_needed || cx.has_input(STATE) {
        cx.dtype_in(STATE, &[DType::F32])?;
    }
    let beta = match cx.attr_str("beta_activation", "none")? {
        "none" => Beta::Plain,
        "sigmoid" => Beta::Sigmoid,
        other => return Err(unknown("beta_activation", other)),
    };
    if delta {
        cx.float_input(BETA)?;
    }
    Ok(Box::new(GatedDeltaNet {
        dtype,
        scale: cx.attr_float("scale", 0.0)?,
        decay: if decays { Some(DecayGate::lower(cx)?) } else { None },
        beta: delta.then_some(beta),
        normalize: cx.attr_bool("qk_l2_norm", false)?,
    }))
}

impl GatedDeltaNet {
    /// Queries, keys (repeated for every head of values) and values, each `[rows, heads, width]`.
    fn operands(&self, b: &mut Bind<'_>, sizes: &Sizes) -> Result<[Buf; 3], BindError> {
        let &Sizes { q_heads, v_heads, key_width, value_width, .. } = sizes;
        let packed = !b.has_input(KEY);
        let (q_len, v_len) = (q_heads * key_width, v_heads * value_width);
        let row = 2 * q_len + v_len;
        let cut = |b: &mut Bind<'_>, start: usize, len: usize| {
            let (all, part) = (b.input_f32(QUERY)?, b.temp(DType::F32, sizes.rows() * len)?);
            b.step(StridedCopy::new(DType::F32, &[sizes.rows(), len], &[row as isize, 1], start), &[all], &[part]);
            Ok::<_, BindError>(part)
        };
        let (mut q, mut k, v) = match packed {
            true => (cut(b, 0, q_len)?, cut(b, q_len, q_len)?, cut(b, 2 * q_len, v_len)?),
            false => (b.input_f32(QUERY)?, b.input_f32(KEY)?, b.input_f32(VALUE)?),
        };
        if self.normalize {
            (q, k) = (self.unit(b, sizes, q)?, self.unit(b, sizes, k)?);
        }
        if v_heads != q_heads {
            let dims = [sizes.rows() * q_heads, v_heads / q_heads, key_width];
            let repeated = b.temp(DType::F32, elements(&dims))?;
            b.step(StridedCopy::new(DType::F32, &dims, &[key_width as isize, 0, 1], 0), &[k], &[repeated]);
            k = repeated;
        }
        Ok([q, k, v])
    }

    /// `x / sqrt(sum(x^2) + epsilon)`, which is a root-mean-square normalisation but for the number of elements.
    fn unit(&self, b: &mut Bind<'_>, sizes: &Sizes, x: Buf) -> Result<Buf, BindError> {
        let (rows, width) = (sizes.rows() * sizes.q_heads, sizes.key_width);
        let gamma = vec![1.0 / (width as f32).sqrt(); width];
        let gamma = b.constant(Arc::new(AlignedBuf::copy_of(bytemuck::cast_slice(&gamma))));
        let y = b.temp(DType::F32, rows * width)?;
        b.step(Norm::new(NormKind::Rms, rows, width, LENGTH_EPSILON / width as f32), &[x, gamma], &[y]);
        Ok(y)
    }

    /// A state with its last two axes, `rows` and `columns`, swapped.
    fn swapped(b: &mut Bind<'_>, state: Buf, heads: usize, [rows, columns]: [usize; 2], to: Buf) {
        b.step(StridedCopy::transpose(DType::F32, &[heads, rows, columns], &[0, 2, 1]), &[state], &[to]);
    }
}

impl Op for GatedDeltaNet {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let sizes = Sizes::of(b)?;
        let &Sizes { batch, q_heads, v_heads, key_width, value_width, .. } = &sizes;
        let mut inputs = self.operands(b, &sizes)?.to_vec();
        let (state_len, heads) = (elements(&sizes.state()), batch * v_heads);
        if b.has_input(STATE) {
            let (given, past) = (b.input(STATE)?, b.temp(DType::F32, state_len)?);
            Self::swapped(b, given, heads, [value_width, key_width], past);
            inputs.push(past);
        }
        let mut decay = None;
        if let Some(gate) = &self.decay {
            let (values, by_key) = gate.bind(b, &sizes)?;
            decay = Some(if by_key { Decay::Key } else { Decay::Head });
            inputs.push(values);
        }
        if let Some(beta) = self.beta {
            inputs.push(gates::beta(b, &sizes, matches!(beta, Beta::Sigmoid))?);
        }
        let out: Dims = sizes.tokens.iter().copied().chain([v_heads, value_width]).collect();
        let (y, state) = (b.output_f32(0, self.dtype, &out)?, b.temp(DType::F32, state_len)?);
        let driver = LinearAttention {
            batch,
            tokens: sizes.rows() / batch,
            q_heads,
            kv_heads: v_heads,
            key_width,
            value_width,
            scale: if self.scale == 0.0 { 1.0 / (key_width as f32).sqrt() } else { self.scale },
            past: b.has_input(STATE),
            decay,
            beta_heads: self.beta.map(|_| v_heads),
            slots: 1,
        };
        if state_len != 0 {
            b.step(driver, &inputs, &[y, state]);
        }
        if b.has_output(1) {
            let last = b.output(1, DType::F32, &sizes.state())?;
            Self::swapped(b, state, heads, [key_width, value_width], last);
        }
        Ok(())
    }
}
