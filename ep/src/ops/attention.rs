//! com.microsoft Attention: packed projections and self-attention in one operator, without a cache.

use std::sync::Arc;

use kernels::isa::Target;
use kernels::ops::attention::{Attention as Driver, AttentionDims, Order, Strided};
use kernels::ops::matmul::MatMul;
use kernels::pack::PackedWeights;
use kernels::tensor::DType;

use super::attention_mask::{Masked, scale_or_default};
use super::linear::output_dims;
use super::product::{self, Ending};
use super::{Code, Decline, Lower, MICROSOFT, Op, OpRow, Work};
use crate::plan::{Bind, BindError};

pub const ROWS: &[OpRow] = &[OpRow {
    domain: MICROSOFT,
    name: "Attention",
    versions: 1..=1,
    inputs: 2..=6,
    outputs: 1..=1,
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
    for index in [1, 2, 5].into_iter().filter(|&index| cx.has_input(index)) {
        cx.dtype_in(index, &[dtype])?;
    }
    if cx.has_input(4) {
        return Err(Decline::new(Code::Input, "a past state is not supported"));
    }
    if cx.attr_bool("do_rotary", false)? {
        return Err(Decline::new(Code::Attribute, "do_rotary is not supported"));
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
    if widths.iter().any(|width| !width.is_multiple_of(heads)) {
        return Err(Decline::new(Code::Attribute, "num_heads does not divide the hidden sizes"));
    }
    Ok(Box::new(Attention {
        target: *cx.target(),
        dtype,
        weights: product::pack_f32(cx, weights, false),
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

/// An attribute that must be there and above 0.
pub(super) fn positive(cx: &Lower<'_, '_>, name: &str) -> Result<usize, Decline> {
    let value = usize::try_from(cx.attr_int(name, 0)?).ok().filter(|&value| value > 0);
    value.ok_or_else(|| Decline::new(Code::Attribute, format!("attribute '{name}' is not positive")))
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
        let mut inputs = vec![b.input_f32(0)?];
        inputs.extend(operands);
        let columns = self.weights.n();
        let qkv = b.temp(DType::F32, rows * columns)?;
        b.step(MatMul::new(&self.target, rows, false, 1.0, Arc::clone(&self.weights), epilogue), &inputs, &[qkv]);

        let [width, value_width] = self.widths;
        let (head, value_head) = (width / self.heads, value_width / self.heads);
        let heads = self.heads;
        let dims = AttentionDims { batch, heads, kv_heads: heads, queries: seq, keys: seq, head, value_head };
        let part = |offset: usize, head: usize| Strided { offset, batch: seq * columns, head, row: columns, col: 1 };
        let (q, k, v) = (part(0, head), part(width, head), part(2 * width, value_head));
        let mut driver = Driver::new(dims, q, k, v, Order::Bsnh, scale_or_default(self.scale, head));
        if self.causal {
            driver = driver.causal(0);
        }
        let mut masked = Masked { dims, driver, operands: vec![qkv; 3] };
        if b.has_input(3) {
            masked = masked.key_mask(b, 3, self.hidden)?;
        }
        if b.has_input(5) {
            masked = masked.bias(b, 5)?;
        }
        let y = b.output_f32(0, self.dtype, &[batch, seq, value_width])?;
        b.step(masked.driver, &masked.operands, &[y]);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
