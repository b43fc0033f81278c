//! ai.onnx Attention without a cache.

use kernels::ops::attention::{Attention as Driver, Order, UndefinedRow};
use kernels::tensor::DType;

use super::attention_mask::{Masked, scale_or_default};
use super::sdpa::attention_dims;
use super::{Code, Decline, Lower, Op, OpRow, Work};
use crate::plan::{Bind, BindError};

pub const ROWS: &[OpRow] = &[OpRow {
    domain: "",
    name: "Attention",
    versions: 23..=24,
    inputs: 3..=4,
    outputs: 1..=1,
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

/// Inputs: Q, K, V, mask.
struct Attention {
    dtype: DType,
    /// Heads of Q, and of K and V, when these have 3 dimensions.
    heads: Option<[usize; 2]>,
    scale: f32,
    softcap: f32,
    causal: bool,
}

fn lower(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let dtype = cx.float_input(0)?;
    for index in [1, 2] {
        cx.dtype_in(index, &[dtype])?;
    }
    if cx.has_input(3) {
        cx.dtype_in(3, &[dtype, DType::Bool])?;
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
        dtype,
        heads,
        scale: cx.attr_float("scale", 0.0)?,
        softcap,
        causal: cx.attr_bool("is_causal", false)?,
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
        let dims = attention_dims(q, k, v)?;
        let at = |[_, heads, rows, cols]: [usize; 4]| order.strided(heads, rows, cols);
        let mut driver = Driver::new(dims, at(q), at(k), at(v), order, scale_or_default(self.scale, dims.head))
            .softcap(self.softcap)
            .undefined_row(UndefinedRow::ZeroIfHidden);
        if self.causal {
            driver = driver.causal(0);
        }
        let operands = vec![b.input_f32(0)?, b.input_f32(1)?, b.input_f32(2)?];
        let mut masked = Masked { dims, driver, operands };
        if b.has_input(3) {
            let mask = b.dims(3)?;
            // A mask may cover the first keys only, or one key: the last dimension does not broadcast.
            if mask.len() < 2 || mask.last() != Some(&dims.keys) {
                let mask = mask.as_slice();
                return Err(BindError::new(format!("a mask of shape {mask:?} does not cover {} keys", dims.keys)));
            }
            masked = masked.bias(b, 3)?;
        }
        let y_dims = match order {
            Order::Bsnh => vec![dims.batch, dims.queries, dims.heads * dims.value_head],
            _ => vec![dims.batch, dims.heads, dims.queries, dims.value_head],
        };
        let y = b.output_f32(0, self.dtype, &y_dims)?;
        b.step(masked.driver, &masked.operands, &[y]);
        Ok(())
    }
}

impl Attention {
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

#[cfg(test)]
mod tests;
