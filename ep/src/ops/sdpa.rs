//! Scaled dot-product attention as fusion rules make it: domain `spacemit`, `Sdpa`, since version 1.
//!
//! `Y = softmax(scale * Q x K^T + mask + bias) x V`, the softmax over the keys.
//!
//! | # | input | shape | remark |
//! |---|-------|-------|--------|
//! | 0 | Q     | 4 dimensions in the order `q_order` | f32 or f16 |
//! | 1 | K     | 4 dimensions in the order `k_order` | type of Q |
//! | 2 | V     | 4 dimensions in the order `v_order` | type of Q |
//! | 3 | mask  | broadcast to `[batch, heads, queries, keys]` | optional; float of Q's type: added, bool: false hides |
//! | 4 | bias  | broadcast to `[batch, heads, queries, keys]` | optional; float of Q's type: added |
//! | 5, 6 | past of K, of V | `[batch, heads of K, past, element]` | optional, both; type of Q; K and V come behind |
//!
//! An order is `bsnh`: `[batch, seq, head, element]`, `bnsh`: `[batch, head, seq, element]`, or `bnhs`:
//! `[batch, head, element, seq]`, which `Y` cannot have.
//!
//! Output `Y`: 4 dimensions in the order `out_order`, type of Q. A batch of 1 is broadcast; K and V may have fewer heads
//! than Q, of which each then serves equally many neighbouring heads of Q. Beside a past, K and V have the batch of Q and
//! an order other than `bnhs`, and the optional outputs 1 and 2 are K and V with their past, `[batch, heads, keys, element]`.
//!
//! | attribute | type | default | meaning |
//! |---|---|---|---|
//! | scale | float | 1 | factor of the products |
//! | q_order, k_order, v_order, out_order | string | `bsnh` | order of the dimensions |
//! | is_causal | int | 0 | 1: query s sees the keys up to s only |
//! | nan_rows_to_zero | int | 0 | 1: a softmax that is NaN, as where all keys are hidden by -inf, counts as zero |

use kernels::ops::attention::{Attention, AttentionDims, Order, UndefinedRow};
use kernels::tensor::DType;

use super::attention_cache::KeysAndValues;
use super::attention_mask::Masked;
use super::{Code, Decline, FUSED, Lower, Op, OpRow, Work};
use crate::plan::{Bind, BindError};

pub const ROWS: &[OpRow] = &[OpRow {
    domain: FUSED,
    name: "Sdpa",
    versions: 1..=1,
    inputs: 3..=7,
    outputs: 1..=3,
    attrs: &["scale", "q_order", "k_order", "v_order", "out_order", "is_causal", "nan_rows_to_zero"],
    work: Work::Heavy,
    lower,
}];

/// Inputs that are added to the scores.
const MASKS: [usize; 2] = [3, 4];
/// Inputs and outputs of caches.
const PAST: [usize; 2] = [5, 6];
const PRESENT: [usize; 2] = [1, 2];

struct Sdpa {
    workers: usize,
    dtype: DType,
    scale: f32,
    /// Of Q, K, V and the output.
    orders: [Order; 4],
    causal: bool,
    undefined_row: UndefinedRow,
}

fn lower(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let dtype = cx.float_input(0)?;
    for index in [1, 2] {
        cx.dtype_in(index, &[dtype])?;
    }
    if cx.has_input(3) {
        cx.dtype_in(3, &[dtype, DType::Bool])?;
    }
    if cx.has_input(4) {
        cx.dtype_in(4, &[dtype])?;
    }
    for index in PAST.into_iter().filter(|&index| cx.has_input(index)) {
        cx.dtype_in(index, &[dtype])?;
    }
    if cx.has_input(PAST[0]) != cx.has_input(PAST[1]) {
        return Err(Decline::new(Code::Input, "of past keys and past values only one is given"));
    }
    for index in 0..3 {
        if cx.rank(index).is_some_and(|rank| rank != 4) {
            return Err(Decline::new(Code::Rank, format!("input {index} has not 4 dimensions")));
        }
    }
    let orders = [order(cx, "q_order")?, order(cx, "k_order")?, order(cx, "v_order")?, order(cx, "out_order")?];
    let cached = cx.has_input(PAST[0]);
    if orders[3] == Order::Bnhs || (cached && orders[1..3].contains(&Order::Bnhs)) {
        return Err(Decline::new(Code::Attribute, "order 'bnhs' is not supported for outputs and new rows of caches"));
    }
    let undefined_row = if cx.attr_bool("nan_rows_to_zero", false)? { UndefinedRow::Zero } else { UndefinedRow::Nan };
    Ok(Box::new(Sdpa {
        workers: cx.target().workers,
        dtype,
        scale: cx.attr_float("scale", 1.0)?,
        orders,
        causal: cx.attr_bool("is_causal", false)?,
        undefined_row,
    }))
}

fn order(cx: &Lower<'_, '_>, name: &str) -> Result<Order, Decline> {
    match cx.attr_str(name, "bsnh")? {
        "bsnh" => Ok(Order::Bsnh),
        "bnsh" => Ok(Order::Bnsh),
        "bnhs" => Ok(Order::Bnhs),
        other => Err(Decline::new(Code::Attribute, format!("{name} '{other}' is not known"))),
    }
}

impl Op for Sdpa {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let mut sizes = [[0; 4]; 3];
        for (index, size) in sizes.iter_mut().enumerate() {
            *size = in_order(&b.dims(index)?, self.orders[index])?;
        }
        let [q, k, v] = sizes;
        let mut dims = attention_dims(q, k, v)?;
        let at = |index: usize| {
            let [batch, heads, rows, cols] = sizes[index];
            let mut at = self.orders[index].strided(heads, rows, cols);
            if batch == 1 {
                at.batch = 0;
            }
            at
        };
        if b.has_input(PAST[0]) && [q[0], k[0], v[0]] != [dims.batch; 3] {
            return Err(BindError::new(format!("q {q:?}, k {k:?} and v {v:?} beside a past have not the same batch")));
        }
        let (q_buf, new) = (b.input_f32(0)?, [(b.input_f32(1)?, at(1)), (b.input_f32(2)?, at(2))]);
        let kv = KeysAndValues::extended(b, &dims, self.dtype, new, PAST, PRESENT)?;
        dims.keys += kv.held;
        let mut driver = Attention::new(dims, at(0), kv.k.1, kv.v.1, self.orders[3], self.scale)
            .cached(kv.format, kv.format)
            .undefined_row(self.undefined_row)
            .shared_by(self.workers, dims.keys);
        if self.causal {
            driver = driver.causal(0);
        }
        let operands = vec![q_buf, kv.k.0, kv.v.0];
        let masks: Vec<usize> = MASKS.into_iter().filter(|&index| b.has_input(index)).collect();
        let masked = Masked { dims, driver, operands }.biases(b, &masks, masks.len() == 1)?;
        let out_dims = match self.orders[3] {
            Order::Bsnh => [dims.batch, dims.queries, dims.heads, dims.value_head],
            _ => [dims.batch, dims.heads, dims.queries, dims.value_head],
        };
        let y = b.output_f32(0, self.dtype, &out_dims)?;
        masked.step(b, y)
    }
}

/// `[batch, head, seq, element]` of an operand.
fn in_order(dims: &[usize], order: Order) -> Result<[usize; 4], BindError> {
    let &[batch, x, y, z] = dims else {
        return Err(BindError::new(format!("an operand of attention has the shape {dims:?}, not 4 dimensions")));
    };
    Ok(match order {
        Order::Bsnh => [batch, y, x, z],
        Order::Bnsh => [batch, x, y, z],
        Order::Bnhs => [batch, x, z, y],
    })
}

/// Checks `[batch, head, seq, element]` of q, k and v against each other.
pub(super) fn attention_dims(q: [usize; 4], k: [usize; 4], v: [usize; 4]) -> Result<AttentionDims, BindError> {
    let mismatch = || BindError::new(format!("attention of q {q:?}, k {k:?}, v {v:?} (batch, heads, length, width)"));
    let batch = [q[0], k[0], v[0]].into_iter().find(|&batch| batch != 1).unwrap_or(1);
    let batches_fit = [q[0], k[0], v[0]].iter().all(|&given| given == 1 || given == batch);
    let heads_fit = k[1] == v[1] && if k[1] == 0 { q[1] == 0 } else { q[1].is_multiple_of(k[1]) };
    if !batches_fit || !heads_fit || q[3] != k[3] || k[2] != v[2] {
        return Err(mismatch());
    }
    Ok(AttentionDims {
        batch,
        heads: q[1],
        kv_heads: k[1].max(1),
        queries: q[2],
        keys: k[2],
        head: q[3],
        value_head: v[3],
    })
}

#[cfg(test)]
mod tests;
