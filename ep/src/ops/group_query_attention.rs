//! com.microsoft GroupQueryAttention: rotary embedding, key and value caches and attention in one operator.
//!
//! The caches hold `[batch, kv_num_heads, positions, head_size]`. Where past and present are the same memory only new rows
//! are written; the value of total_sequence_length decides the positions of a present that grows.

mod bind;

use kernels::ops::attention::CacheFormat;
use kernels::tensor::DType;

use super::attention::positive;
use super::attention_cache::float_format;
use super::{Code, Decline, Lower, MICROSOFT, Op, OpRow, Work};

pub const ROWS: &[OpRow] = &[OpRow {
    domain: MICROSOFT,
    name: "GroupQueryAttention",
    versions: 1..=1,
    inputs: 7..=17,
    outputs: 1..=3,
    attrs: &[
        "num_heads",
        "kv_num_heads",
        "scale",
        "softcap",
        "smooth_softmax",
        "local_window_size",
        "causal",
        "do_rotary",
        "rotary_interleaved",
        "qk_norm_epsilon",
        "k_quant_type",
        "v_quant_type",
        "kv_cache_bit_width",
        "qk_output",
        "sliding_window_cache",
    ],
    work: Work::Heavy,
    lower,
}];

const QUERY: usize = 0;
const KEY: usize = 1;
const VALUE: usize = 2;
const PAST_KEY: usize = 3;
const PAST_VALUE: usize = 4;
const SEQLENS_K: usize = 5;
const TOTAL_SEQUENCE_LENGTH: usize = 6;
const COS: usize = 7;
const SIN: usize = 8;
const POSITION_IDS: usize = 9;
const ATTENTION_BIAS: usize = 10;
const HEAD_SINK: usize = 11;
const K_SCALE: usize = 12;
const V_SCALE: usize = 13;
const Q_NORM: usize = 14;
const K_NORM: usize = 15;
const QUERY_SEQLENS: usize = 16;

struct GroupQueryAttention {
    workers: usize,
    dtype: DType,
    heads: usize,
    kv_heads: usize,
    scale: f32,
    softcap: f32,
    smooth: bool,
    window: Option<usize>,
    causal: bool,
    rotary: Option<bool>,
    norm: Option<f32>,
    /// Stored type and format of the caches of keys and of values.
    caches: [(DType, CacheFormat); 2],
}

fn lower(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let dtype = cx.float_input(QUERY)?;
    let typed = |inputs: &[usize], dtype: DType| {
        let given = inputs.iter().filter(|&&index| cx.has_input(index));
        given.copied().try_for_each(|index| cx.dtype_in(index, &[dtype]).map(|_| ()))
    };
    typed(&[KEY, VALUE, COS, SIN, ATTENTION_BIAS, HEAD_SINK, Q_NORM, K_NORM], dtype)?;
    typed(&[SEQLENS_K, TOTAL_SEQUENCE_LENGTH, QUERY_SEQLENS], DType::I32)?;
    typed(&[POSITION_IDS], DType::I64)?;
    typed(&[K_SCALE, V_SCALE], DType::F32)?;
    for (a, b) in [(KEY, VALUE), (PAST_KEY, PAST_VALUE), (COS, SIN), (Q_NORM, K_NORM)] {
        if cx.has_input(a) != cx.has_input(b) {
            return Err(Decline::new(Code::Input, format!("of inputs {a} and {b} only one is given")));
        }
    }
    for name in ["qk_output", "sliding_window_cache"] {
        if cx.attr_int(name, 0)? != 0 {
            return Err(Decline::new(Code::Attribute, format!("{name} is not supported")));
        }
    }
    let do_rotary = cx.attr_bool("do_rotary", false)?;
    let interleaved = cx.attr_bool("rotary_interleaved", false)?;
    if do_rotary && !cx.has_input(COS) {
        return Err(Decline::new(Code::Input, "do_rotary is set, but the caches of cosines and sines are missing"));
    }
    let causal = cx.attr_bool("causal", true)?;
    let window = usize::try_from(cx.attr_int("local_window_size", -1)?).ok().filter(|&keys| keys > 0);
    if window.is_some() && !causal {
        return Err(Decline::new(Code::Attribute, "a local window without causal is not supported"));
    }
    let epsilon = cx.attr_float("qk_norm_epsilon", 1e-6)?;
    let (heads, kv_heads) = (positive(cx, "num_heads")?, positive(cx, "kv_num_heads")?);
    if !heads.is_multiple_of(kv_heads) {
        return Err(Decline::new(Code::Attribute, "kv_num_heads does not divide num_heads"));
    }
    Ok(Box::new(GroupQueryAttention {
        workers: cx.target().workers,
        dtype,
        heads,
        kv_heads,
        scale: cx.attr_float("scale", 0.0)?,
        softcap: cx.attr_float("softcap", 0.0)?,
        smooth: cx.attr_int("smooth_softmax", 0)? == 1,
        window,
        causal,
        rotary: do_rotary.then_some(interleaved),
        norm: cx.has_input(Q_NORM).then_some(epsilon),
        caches: [
            cache(cx, dtype, "k_quant_type", PAST_KEY, K_SCALE)?,
            cache(cx, dtype, "v_quant_type", PAST_VALUE, V_SCALE)?,
        ],
    }))
}

/// Stored type and format of a cache.
fn cache(
    cx: &Lower<'_, '_>,
    dtype: DType,
    kind: &str,
    past: usize,
    scale: usize,
) -> Result<(DType, CacheFormat), Decline> {
    let bits = cx.attr_int("kv_cache_bit_width", 0)?;
    match cx.attr_str(kind, "NONE")? {
        "NONE" => {
            if cx.has_input(past) {
                cx.dtype_in(past, &[dtype])?;
            }
            Ok((dtype, float_format(dtype)))
        }
        "PER_TENSOR" | "PER_CHANNEL" if cx.has_input(past) && cx.has_input(scale) => match (cx.dtype(past)?, bits) {
            (DType::I8, 0 | 8) => Ok((DType::I8, CacheFormat::I8)),
            (DType::U8, 4) => Ok((DType::U8, CacheFormat::U4)),
            (stored, bits) => {
                Err(Decline::new(Code::DType, format!("a cache of {bits} bits in {stored} is not supported")))
            }
        },
        other => Err(Decline::new(Code::Attribute, format!("{kind} {other} is not supported with these inputs"))),
    }
}

#[cfg(test)]
mod tests;
