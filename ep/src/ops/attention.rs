//! com.microsoft Attention: packed projections and self-attention in one operator.

use std::sync::Arc;

use kernels::isa::Target;
use kernels::ops::attention::{Attention as Driver, AttentionDims, CacheFormat, Order, Strided};
use kernels::ops::matmul::MatMul;
use kernels::pack::PackedWeights;
use kernels::tensor::{DType, elements};

use super::attention_cache::{BoundSpans, Cache, KeysAndValues, NewRows, float_format};
use super::attention_mask::{Masked, scale_or_default};
use super::linear::output_dims;
use super::product::{self, Ending};
use super::{Code, Decline, Lower, MICROSOFT, Op, OpRow, Work};
use crate::plan::{Bind, BindError, Buf};

pub const ROWS: &[OpRow] = &[OpRow {
    domain: MICROSOFT,
    name: "Attention",
    versions: 1..=1,
    inputs: 2..=6,
    outputs: 1..=2,
    attrs: &[
        "num_heads",
        "unidirectional",
        "mask_filter_value",
        "scale",
        "qkv_hidden_sizes",
        "do_rotary",
        "rotary_embedding_dim",
        "past_present_share_buffer",
    ],
    work: Work::Heavy,
    lower,
}];

/// Inputs: input, weights, bias, mask, past, attention bias. Outputs: the result, present. Past and present are
/// `[2, batch, heads, positions, head size]`: keys, then values.
struct Attention {
    target: Target,
    dtype: DType,
    weights: Arc<PackedWeights>,
    heads: usize,
    /// Columns of the projections that are queries and keys (each), and values.
    widths: [usize; 2],
    scale: f32,
    causal: bool,
    hidden: f32,
}

fn lower(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let dtype = cx.float_input(0)?;
    for index in [1, 2, 4, 5].into_iter().filter(|&index| cx.has_input(index)) {
        cx.dtype_in(index, &[dtype])?;
    }
    for name in ["do_rotary", "past_present_share_buffer"] {
        if cx.attr_int(name, 0)? != 0 {
            return Err(Decline::new(Code::Attribute, format!("{name} is not supported")));
        }
    }
    check_mask(cx, 3)?;
    let weights = product::constant_matrix(cx, 1)
        .ok_or_else(|| Decline::new(Code::Constant, "the weight is not a constant matrix"))?;
    let heads = positive(cx, "num_heads")?;
    let columns = weights.dims[1];
    let widths = match cx.attr_ints("qkv_hidden_sizes")? {
        None if columns.is_multiple_of(3) => [columns / 3; 2],
        Some(&[q, k, v]) if q == k && q > 0 && v > 0 && (q + k + v) as usize == columns => [q as usize, v as usize],
        _ => return Err(Decline::new(Code::Attribute, "qkv_hidden_sizes do not fit the weight")),
    };
    if (cx.has_input(4) || cx.has_output(1)) && widths[0] != widths[1] {
        return Err(Decline::new(Code::Attribute, "a cache of keys and values of different widths is not supported"));
    }
    if widths.iter().any(|width| !width.is_multiple_of(heads)) {
        return Err(Decline::new(Code::Attribute, "num_heads does not divide the hidden sizes"));
    }
    Ok(Box::new(Attention {
        target: *cx.target(),
        dtype,
        weights: product::pack_float(cx, weights, false),
        heads,
        widths,
        scale: cx.attr_float("scale", 0.0)?,
        causal: cx.attr_bool("unidirectional", false)?,
        hidden: cx.attr_float("mask_filter_value", -10000.0)?,
    }))
}

/// A mask of i32 with at most 3 dimensions.
pub(super) fn check_mask(cx: &Lower<'_, '_>, index: usize) -> Result<(), Decline> {
    if !cx.has_input(index) {
        return Ok(());
    }
    cx.dtype_in(index, &[DType::I32])?;
    match cx.rank(index) {
        Some(rank) if !(1..=3).contains(&rank) => {
            Err(Decline::new(Code::Rank, format!("a mask of {rank} dimensions is not supported")))
        }
        _ => Ok(()),
    }
}

/// An attribute that must be there, above 0, and no more than any model has.
pub(super) fn positive(cx: &Lower<'_, '_>, name: &str) -> Result<usize, Decline> {
    let value = u16::try_from(cx.attr_int(name, 0)?).ok().filter(|&value| value > 0);
    value
        .map(usize::from)
        .ok_or_else(|| Decline::new(Code::Attribute, format!("attribute '{name}' is not in 1..=65535")))
}

impl Op for Attention {
    fn absorbed_inputs(&self) -> &[usize] {
        &[1]
    }

    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let input = b.dims(0)?;
        let &[batch, seq, _] = input.as_slice() else {
            return Err(BindError::new(format!("an input of shape {:?} has not 3 dimensions", input.as_slice())));
        };
        let (rows, projected) = output_dims(&input, &self.weights, false)?;
        let ending = Ending { bias: b.has_input(2).then_some(2), ..Ending::default() };
        let (epilogue, operands) = ending.bind(b, &projected)?;
        let mut inputs = vec![product::left_hand_side(b, &self.weights)?];
        inputs.extend(operands);
        let columns = self.weights.n();
        let qkv = b.temp(DType::F32, rows * columns)?;
        b.step(MatMul::new(&self.target, rows, false, 1.0, Arc::clone(&self.weights), epilogue), &inputs, &[qkv]);

        let [width, value_width] = self.widths;
        let (head, value_head) = (width / self.heads, value_width / self.heads);
        let heads = self.heads;
        let mut dims = AttentionDims { batch, heads, kv_heads: heads, queries: seq, keys: seq, head, value_head };
        let part = |offset: usize, head: usize| Strided { offset, batch: seq * columns, head, row: columns, col: 1 };
        let kv = [part(width, head), part(2 * width, value_head)];
        let kv = self.cached(b, &dims, qkv, kv)?;
        dims.keys += kv.held;
        let scale = scale_or_default(self.scale, head);
        let mut driver = Driver::new(dims, part(0, head), kv.k.1, kv.v.1, Order::Bsnh, scale)
            .cached(kv.format, kv.format)
            .shared_by(self.target.workers, dims.keys);
        if self.causal {
            driver = driver.causal(kv.held as isize);
        }
        let mut masked = Masked { dims, driver, operands: vec![qkv, kv.k.0, kv.v.0] };
        if b.has_input(3) {
            masked = masked.key_mask(b, 3, self.hidden)?;
        }
        if b.has_input(5) {
            masked = masked.biases(b, &[5], !b.has_input(3))?;
        }
        let y = b.output_f32(0, self.dtype, &[batch, seq, value_width])?;
        masked.step(b, y)
    }
}

impl Attention {
    /// The projected keys and values, `kv` in `qkv`, behind those of the past if there is a cache.
    fn cached(
        &self,
        b: &mut Bind<'_>,
        d: &AttentionDims,
        qkv: Buf,
        kv: [Strided; 2],
    ) -> Result<KeysAndValues, BindError> {
        if !b.has_input(4) && !b.has_output(1) {
            let [k, v] = kv.map(|at| (qkv, at));
            return Ok(KeysAndValues { k, v, format: CacheFormat::F32, held: 0 });
        }
        let past = match b.has_input(4) {
            true => match *b.dims(4)?.as_slice() {
                [2, batch, heads, held, head] if [batch, heads, head] == [d.batch, d.heads, d.head] => {
                    Some((b.input(4)?, held))
                }
                ref dims => return Err(BindError::new(format!("a past of shape {dims:?} does not fit {d:?}"))),
            },
            false => None,
        };
        let held = past.map_or(0, |(_, held)| held);
        let (format, present) = (float_format(self.dtype), held + d.keys);
        let cache = Cache { heads: d.heads, dtype: self.dtype, format, scales: None, past, present };
        let dims = [2, d.batch, d.heads, present, d.head];
        let buf = match b.has_output(1) {
            true => b.output(1, self.dtype, &dims)?,
            false => b.temp(self.dtype, elements(&dims))?,
        };
        let row = d.batch * d.heads * d.head;
        let spans = BoundSpans::same(held, d.keys);
        for (index, at) in kv.into_iter().enumerate() {
            let new = NewRows::plain(qkv, at, [d.batch, d.keys, d.head]);
            cache.append_to(b, buf, [index * held * row, index * present * row], new, &spans);
        }
        let at = cache.at(d.head);
        Ok(KeysAndValues { k: (buf, at), v: (buf, at.shifted(present * row)), format, held })
    }
}

#[cfg(test)]
mod tests;
