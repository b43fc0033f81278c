//! com.microsoft MultiHeadAttention: attention to keys and values that are given, or appended to caches.

use kernels::ops::arithmetic::{Arithmetic, ArithmeticOp};
use kernels::ops::attention::{Attention as Driver, AttentionDims, Order, ScoreStage, Strided};
use kernels::ops::strided_copy::StridedCopy;
use kernels::tensor::{DType, elements};

use super::attention::{check_mask, positive};
use super::attention_cache::KeysAndValues;
use super::attention_mask::{Masked, scale_or_default};
use super::{Code, Decline, Lower, MICROSOFT, Op, OpRow, Work};
use crate::plan::{Bind, BindError, Buf};

pub const ROWS: &[OpRow] = &[OpRow {
    domain: MICROSOFT,
    name: "MultiHeadAttention",
    versions: 1..=1,
    inputs: 1..=8,
    outputs: 1..=4,
    attrs: &["num_heads", "unidirectional", "mask_filter_value", "scale"],
    work: Work::Heavy,
    lower,
}];

/// Inputs: query, key, value, bias, key padding mask, attention bias, past key, past value. Outputs: the result, present
/// key, present value, weights.
struct MultiHeadAttention {
    workers: usize,
    dtype: DType,
    heads: usize,
    scale: f32,
    causal: bool,
    hidden: f32,
}

fn lower(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let dtype = cx.float_input(0)?;
    for index in [1, 2, 3, 5, 6, 7].into_iter().filter(|&index| cx.has_input(index)) {
        cx.dtype_in(index, &[dtype])?;
    }
    if cx.has_input(2) && !cx.has_input(1) {
        return Err(Decline::new(Code::Input, "a value without a key is not supported"));
    }
    if cx.has_input(6) != cx.has_input(7) {
        return Err(Decline::new(Code::Input, "of past key and past value only one is given"));
    }
    check_mask(cx, 4)?;
    Ok(Box::new(MultiHeadAttention {
        workers: cx.target().workers,
        dtype,
        heads: positive(cx, "num_heads")?,
        scale: cx.attr_float("scale", 0.0)?,
        causal: cx.attr_bool("unidirectional", false)?,
        hidden: cx.attr_float("mask_filter_value", -10000.0)?,
    }))
}

impl Op for MultiHeadAttention {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let (mut dims, [q, k, v]) = self.layout(b)?;
        let [q_buf, k_buf, v_buf] = self.operands(b, &dims)?;
        let kv = KeysAndValues::extended(b, &dims, self.dtype, [(k_buf, k), (v_buf, v)], [6, 7], [1, 2])?;
        dims.keys += kv.held;
        let mut driver = Driver::new(dims, q, kv.k.1, kv.v.1, Order::Bsnh, scale_or_default(self.scale, dims.head))
            .cached(kv.format, kv.format)
            .shared_by(self.workers, dims.keys);
        if self.causal {
            driver = driver.causal(kv.held as isize);
        }
        let mut masked = Masked { dims, driver, operands: vec![q_buf, kv.k.0, kv.v.0] };
        if b.has_input(4) {
            masked = masked.key_mask(b, 4, self.hidden)?;
        }
        if b.has_input(5) {
            masked = masked.biases(b, &[5], !b.has_input(4))?;
        }
        let y = b.output_f32(0, self.dtype, &[dims.batch, dims.queries, dims.heads * dims.value_head])?;
        masked.scores(b, 3, self.dtype, ScoreStage::Weights)?.step(b, y)
    }
}

impl MultiHeadAttention {
    /// Sizes, and where q, k and v lie in their inputs, from the shapes of query, key and value.
    fn layout(&self, b: &Bind<'_>) -> Result<(AttentionDims, [Strided; 3]), BindError> {
        let shape = |index: usize| if b.has_input(index) { b.dims(index).map(Some) } else { Ok(None) };
        let (query, key, value) = (b.dims(0)?, shape(1)?, shape(2)?);
        let heads = self.heads;
        let wrong = || {
            let shapes: Vec<_> = [Some(&query), key.as_ref(), value.as_ref()].into_iter().flatten().collect();
            BindError::new(format!("query, key and value of the shapes {shapes:?} do not fit {heads} heads"))
        };
        let width_of = |columns: usize| if columns.is_multiple_of(heads) { Ok(columns / heads) } else { Err(wrong()) };
        let dims = |batch, queries, keys, head, value_head| AttentionDims {
            batch,
            heads,
            kv_heads: heads,
            queries,
            keys,
            head,
            value_head,
        };
        match (query.as_slice(), key.as_deref(), value.as_deref()) {
            (&[batch, seq, n, 3, head], None, None) if n == heads => {
                let part = |index| packed(seq, heads, 3, head, index);
                Ok((dims(batch, seq, seq, head, head), [part(0), part(1), part(2)]))
            }
            (&[batch, seq, width], Some(&[b2, keys, n, 2, head]), None)
                if batch == b2 && n == heads && width == heads * head =>
            {
                let q = Order::Bsnh.strided(heads, seq, head);
                let part = |index| packed(keys, heads, 2, head, index);
                Ok((dims(batch, seq, keys, head, head), [q, part(0), part(1)]))
            }
            (&[batch, seq, width], Some(&[b2, keys, k_width]), Some(&[b3, v_keys, v_width]))
                if [b2, b3] == [batch; 2] && keys == v_keys && width == k_width =>
            {
                let (head, value_head) = (width_of(width)?, width_of(v_width)?);
                let at = |rows, cols| Order::Bsnh.strided(heads, rows, cols);
                Ok((dims(batch, seq, keys, head, value_head), [at(seq, head), at(keys, head), at(keys, value_head)]))
            }
            (&[batch, seq, width], Some(&[b2, n2, keys, head]), Some(&[b3, n3, v_keys, value_head]))
                if [b2, b3] == [batch; 2] && [n2, n3] == [heads; 2] && keys == v_keys && width == heads * head =>
            {
                let at = |cols| Order::Bnsh.strided(heads, keys, cols);
                let q = Order::Bsnh.strided(heads, seq, head);
                Ok((dims(batch, seq, keys, head, value_head), [q, at(head), at(value_head)]))
            }
            _ => Err(wrong()),
        }
    }

    /// The buffers of q, k and v, with the bias added where there is one.
    fn operands(&self, b: &mut Bind<'_>, d: &AttentionDims) -> Result<[Buf; 3], BindError> {
        if !b.has_input(3) {
            let query = b.input_f32(0)?;
            let key = if b.has_input(1) { b.input_f32(1)? } else { query };
            return Ok([query, key, if b.has_input(2) { b.input_f32(2)? } else { key }]);
        }
        let (bias_dims, bias) = (b.dims(3)?, b.input_f32(3)?);
        let (width, value_width) = (d.heads * d.head, d.heads * d.value_head);
        if bias_dims.as_slice() != [2 * width + value_width] {
            let bias_dims = bias_dims.as_slice();
            return Err(BindError::new(format!(
                "a bias of shape {bias_dims:?} does not fit widths {width}, {value_width}"
            )));
        }
        let query = b.dims(0)?;
        if query.len() == 5 {
            // The bias has q, k and v one after the other, the packed input for each head.
            let (inner, strides) = (&query[2..], [d.head as isize, width as isize, 1]);
            let arranged = b.temp(DType::F32, elements(inner))?;
            b.step(StridedCopy::new(DType::F32, inner, &strides, 0), &[bias], &[arranged]);
            return Ok([add(b, 0, arranged, inner)?; 3]);
        }
        let mut operands = [bias; 3];
        for (index, (start, width)) in [(0, width), (width, width), (2 * width, value_width)].into_iter().enumerate() {
            if !b.has_input(index) || b.dims(index)?.len() != 3 {
                return Err(BindError::new("a bias is given, but key and value have not 3 dimensions"));
            }
            let part = b.temp(DType::F32, width)?;
            b.step(StridedCopy::new(DType::F32, &[width], &[1], start), &[bias], &[part]);
            operands[index] = add(b, index, part, &[width])?;
        }
        Ok(operands)
    }
}

/// Part `index` of `[batch, rows, heads, parts, cols]`.
fn packed(rows: usize, heads: usize, parts: usize, cols: usize, index: usize) -> Strided {
    let (head, row) = (parts * cols, heads * parts * cols);
    Strided { offset: index * cols, batch: rows * row, head, row, col: 1 }
}

/// Input `index` plus a bias of shape `dims`, broadcast.
fn add(b: &mut Bind<'_>, index: usize, bias: Buf, dims: &[usize]) -> Result<Buf, BindError> {
    let (x_dims, x) = (b.dims(index)?, b.input_f32(index)?);
    let sum = b.temp(DType::F32, elements(&x_dims))?;
    b.step(Arithmetic::new(ArithmeticOp::Add, DType::F32, &x_dims, dims), &[x, bias], &[sum]);
    Ok(sum)
}

#[cfg(test)]
mod tests;
