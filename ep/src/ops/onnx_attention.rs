//! ai.onnx Attention.

use kernels::ops::attention::{Attention as Driver, AttentionDims, Order, ScoreStage, Span, Spans, UndefinedRow};
use kernels::tensor::DType;

use super::attention_cache::{BoundSpans, KeysAndValues};
use super::attention_mask::{Masked, scale_or_default};
use super::sdpa::attention_dims;
use super::{Code, Decline, Lower, Op, OpRow, Work};
use crate::plan::{Bind, BindError};

pub const ROWS: &[OpRow] = &[OpRow {
    domain: "",
    name: "Attention",
    versions: 23..=24,
    inputs: 3..=7,
    outputs: 1..=4,
    attrs: &[
        "is_causal",
        "kv_num_heads",
        "q_num_heads",
        "qk_matmul_output_mode",
        "scale",
        "softcap",
        "softmax_precision",
    ],
    work: Work::Heavy,
    lower,
}];

const MASK: usize = 3;
const PAST_KEY: usize = 4;
const PAST_VALUE: usize = 5;
const NONPAD_KV_SEQLEN: usize = 6;

/// Inputs: Q, K, V, mask, past key, past value, numbers of keys that are no padding. Outputs: Y, present key, present value,
/// scores.
struct Attention {
    workers: usize,
    dtype: DType,
    /// Heads of Q, and of K and V, when these have 3 dimensions.
    heads: Option<[usize; 2]>,
    scale: f32,
    softcap: f32,
    causal: bool,
    /// What the scores are when they are asked for.
    stage: ScoreStage,
}

fn lower(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let dtype = cx.float_input(0)?;
    for index in [1, 2] {
        cx.dtype_in(index, &[dtype])?;
    }
    if cx.has_input(3) {
        cx.dtype_in(3, &[dtype, DType::Bool])?;
    }
    for index in [PAST_KEY, PAST_VALUE].into_iter().filter(|&index| cx.has_input(index)) {
        cx.dtype_in(index, &[dtype])?;
    }
    if cx.has_input(PAST_KEY) != cx.has_input(PAST_VALUE) {
        return Err(Decline::new(Code::Input, "of past key and past value only one is given"));
    }
    if cx.has_input(NONPAD_KV_SEQLEN) {
        cx.dtype_in(NONPAD_KV_SEQLEN, &[DType::I64])?;
        if cx.has_input(PAST_KEY) {
            return Err(Decline::new(Code::Input, "numbers of keys beside a past are not supported"));
        }
    }
    let heads = [cx.attr_int("q_num_heads", 0)?, cx.attr_int("kv_num_heads", 0)?];
    let heads = heads.map(|count| usize::try_from(count).unwrap_or(0));
    let heads = heads.iter().all(|&count| count > 0).then_some(heads);
    if heads.is_none() && cx.rank(0) == Some(3) {
        return Err(Decline::new(Code::Attribute, "operands of 3 dimensions need the numbers of heads"));
    }
    let precision = cx.attr_int("softmax_precision", 1)?;
    // ONNX's number of float.
    if precision != 1 {
        return Err(Decline::new(Code::Attribute, format!("softmax_precision {precision} is not supported")));
    }
    let softcap = cx.attr_float("softcap", 0.0)?;
    if !(0.0..f32::INFINITY).contains(&softcap) {
        return Err(Decline::new(Code::Attribute, format!("softcap {softcap} is not supported")));
    }
    Ok(Box::new(Attention {
        workers: cx.target().workers,
        dtype,
        heads,
        scale: cx.attr_float("scale", 0.0)?,
        softcap,
        causal: cx.attr_bool("is_causal", false)?,
        stage: match cx.attr_int("qk_matmul_output_mode", 0)? {
            0 => ScoreStage::Product,
            1 => ScoreStage::Capped,
            2 => ScoreStage::Biased,
            3 => ScoreStage::Weights,
            mode => return Err(Decline::new(Code::Attribute, format!("qk_matmul_output_mode {mode} is not known"))),
        },
    }))
}

impl Op for Attention {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let (q, order) = self.sizes(&b.dims(0)?, 0)?;
        let (k, k_order) = self.sizes(&b.dims(1)?, 1)?;
        let (v, v_order) = self.sizes(&b.dims(2)?, 1)?;
        if q[0] != k[0] || q[0] != v[0] || order != k_order || order != v_order {
            return Err(BindError::new(format!("q {q:?}, k {k:?} and v {v:?} do not fit each other")));
        }
        let mut dims = attention_dims(q, k, v)?;
        let at = |[_, heads, rows, cols]: [usize; 4]| order.strided(heads, rows, cols);
        let new = [(b.input_f32(1)?, at(k)), (b.input_f32(2)?, at(v))];
        let kv = KeysAndValues::extended(b, &dims, self.dtype, new, [PAST_KEY, PAST_VALUE], [1, 2])?;
        dims.keys += kv.held;
        let spans = self.spans(b, &dims, kv.held)?;
        let driver = Driver::new(dims, at(q), kv.k.1, kv.v.1, order, scale_or_default(self.scale, dims.head))
            .spans(spans.spans)
            .by_position(self.causal)
            .cached(kv.format, kv.format)
            .softcap(self.softcap)
            .undefined_row(UndefinedRow::ZeroIfHidden)
            .shared_by(self.workers, dims.keys);
        let mut operands = vec![b.input_f32(0)?, kv.k.0, kv.v.0];
        operands.extend(spans.operands);
        let mut masked = Masked { dims, driver, operands };
        if b.has_input(MASK) {
            masked.dims.keys = covered(b, &dims)?;
            // Lengths that are read in a run bound the keys themselves, and scores show what a mask adds.
            masked = match b.has_input(NONPAD_KV_SEQLEN) || b.has_output(3) {
                true => masked.bias(b, MASK)?,
                false => masked.biases(b, &[MASK], true)?,
            };
            masked.dims = dims;
        }
        let y_dims = match order {
            Order::Bsnh => vec![dims.batch, dims.queries, dims.heads * dims.value_head],
            _ => vec![dims.batch, dims.heads, dims.queries, dims.value_head],
        };
        let y = b.output_f32(0, self.dtype, &y_dims)?;
        masked.scores(b, 3, self.dtype, self.stage)?.step(b, y)
    }
}

impl Attention {
    /// Keys behind those that the mask covers are hidden, as are those that are padding.
    fn spans(&self, b: &Bind<'_>, dims: &AttentionDims, held: usize) -> Result<BoundSpans, BindError> {
        let keys = if b.has_input(MASK) { covered(b, dims)? } else { dims.keys };
        if !b.has_input(NONPAD_KV_SEQLEN) {
            return Ok(BoundSpans { spans: Spans::Same(Span { keys, first: held as isize }), operands: Vec::new() });
        }
        let given = b.dims(NONPAD_KV_SEQLEN)?;
        if given.as_slice() != [dims.batch] || keys != dims.keys {
            let (given, keys) = (given.as_slice(), dims.keys);
            return Err(BindError::new(format!(
                "numbers of keys of shape {given:?} and the mask do not fit {keys} keys"
            )));
        }
        let spans = Spans::Filled { queries: dims.queries, capacity: dims.keys };
        Ok(BoundSpans { spans, operands: vec![b.input(NONPAD_KV_SEQLEN)?] })
    }

    /// `[batch, heads, seq, width]` of an operand with the heads number `which`, and its order.
    fn sizes(&self, dims: &[usize], which: usize) -> Result<([usize; 4], Order), BindError> {
        match (dims, self.heads) {
            (&[batch, heads, seq, width], _) => Ok(([batch, heads, seq, width], Order::Bnsh)),
            (&[batch, seq, columns], Some(heads)) if columns.is_multiple_of(heads[which]) => {
                Ok(([batch, heads[which], seq, columns / heads[which]], Order::Bsnh))
            }
            _ => Err(BindError::new(format!("an operand of shape {dims:?} does not fit the number of heads"))),
        }
    }
}

/// Keys that the mask covers: the first ones, as many as its last dimension, which does not broadcast, says.
fn covered(b: &Bind<'_>, dims: &AttentionDims) -> Result<usize, BindError> {
    let mask = b.dims(MASK)?;
    match mask.last() {
        Some(&keys) if mask.len() >= 2 && keys <= dims.keys => Ok(keys),
        _ => {
            let mask = mask.as_slice();
            Err(BindError::new(format!("a mask of shape {mask:?} does not fit {} keys", dims.keys)))
        }
    }
}

#[cfg(test)]
mod tests;
