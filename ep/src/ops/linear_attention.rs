//! Attention with a recurrent state: `LinearAttention` of ONNX 27 and of com.microsoft, and the latter's gate.
//!
//! The one of com.microsoft may have more heads of keys than of queries, and a window of states.

use kernels::ops::arithmetic::{Arithmetic, ArithmeticOp};
use kernels::ops::linear_attention::{Decay, LinearAttention as Driver};
use kernels::ops::unary::{Unary, UnaryOp};
use kernels::tensor::{DType, Dims, elements};

use super::{Code, Decline, Lower, MICROSOFT, Op, OpRow, Work};
use crate::plan::{Bind, BindError};

const ROW: OpRow = OpRow {
    domain: "",
    name: "LinearAttention",
    versions: 27..=28,
    inputs: 3..=6,
    outputs: 1..=2,
    attrs: &["chunk_size", "kv_num_heads", "q_num_heads", "scale", "update_rule"],
    work: Work::Heavy,
    lower,
};

pub const ROWS: &[OpRow] = &[
    ROW,
    OpRow {
        domain: MICROSOFT,
        versions: 1..=1,
        attrs: &["chunk_size", "kv_num_heads", "q_num_heads", "scale", "state_window", "update_rule"],
        ..ROW
    },
    OpRow {
        domain: MICROSOFT,
        name: "LinearAttentionGate",
        versions: 1..=1,
        inputs: 3..=4,
        outputs: 1..=2,
        attrs: &[],
        work: Work::Light,
        lower: gate,
    },
];

const QUERY: usize = 0;
const KEY: usize = 1;
const VALUE: usize = 2;
const PAST: usize = 3;
const DECAY: usize = 4;
const BETA: usize = 5;

struct LinearAttention {
    dtype: DType,
    state: DType,
    q_heads: usize,
    kv_heads: usize,
    /// 0: one over the root of the width of a key.
    scale: f32,
    decays: bool,
    delta: bool,
    /// 0: the states have no axis for the window.
    window: usize,
}

fn lower(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let (decays, delta) = match cx.attr_str("update_rule", "gated_delta")? {
        "linear" => (false, false),
        "gated" => (true, false),
        "delta" => (false, true),
        "gated_delta" => (true, true),
        other => return Err(Decline::new(Code::Attribute, format!("update_rule '{other}' is not known"))),
    };
    let dtype = cx.float_input(QUERY)?;
    for (index, needed) in [(KEY, true), (VALUE, true), (DECAY, decays), (BETA, delta)] {
        if needed {
            cx.dtype_in(index, &[dtype])?;
        }
    }
    let state = if cx.has_input(PAST) { cx.float_input(PAST)? } else { cx.output_dtype(1).unwrap_or(dtype) };
    if ![DType::F32, DType::F16].contains(&state) {
        return Err(Decline::new(Code::DType, format!("a state of type {state} is not supported")));
    }
    let (q_heads, kv_heads) = (count(cx, "q_num_heads")?, count(cx, "kv_num_heads")?);
    let inverse = cx.node().domain == MICROSOFT && kv_heads.is_multiple_of(q_heads);
    if !q_heads.is_multiple_of(kv_heads) && !inverse {
        let reason = format!("{q_heads} heads of queries do not share {kv_heads} heads of keys");
        return Err(Decline::new(Code::Attribute, reason));
    }
    let window = cx.attr_int("state_window", 0)?;
    let window = usize::try_from(window).ok().filter(|&window| window <= 8);
    let window = window.ok_or_else(|| Decline::new(Code::Attribute, "'state_window' is not in 0..=8"))?;
    let scale = cx.attr_float("scale", 0.0)?;
    Ok(Box::new(LinearAttention { dtype, state, q_heads, kv_heads, scale, decays, delta, window }))
}

fn count(cx: &Lower<'_, '_>, name: &str) -> Result<usize, Decline> {
    let value = cx.attr_int(name, 0)?;
    let positive = usize::try_from(value).ok().filter(|&value| value > 0);
    positive.ok_or_else(|| Decline::new(Code::Attribute, format!("'{name}' is {value}")))
}

impl LinearAttention {
    /// Sizes of the driver, from the shapes of queries, keys and values.
    fn sizes(&self, b: &Bind<'_>) -> Result<Driver, BindError> {
        let (q, k, v) = (b.dims(QUERY)?, b.dims(KEY)?, b.dims(VALUE)?);
        let wrong = || {
            let shapes = [&q, &k, &v].map(|dims| dims.as_slice());
            BindError::new(format!("query, key and value have shapes {shapes:?}"))
        };
        let &[batch, tokens, q_width] = q.as_slice() else { return Err(wrong()) };
        let (key_width, value_width) = (q_width / self.q_heads, v.last().map_or(0, |width| width / self.kv_heads));
        let fits = |dims: &Dims, heads: usize, width: usize| dims.as_slice() == [batch, tokens, heads * width];
        if !(fits(&q, self.q_heads, key_width)
            && fits(&k, self.kv_heads, key_width)
            && fits(&v, self.kv_heads, value_width))
        {
            return Err(wrong());
        }
        Ok(Driver {
            batch,
            tokens,
            q_heads: self.q_heads,
            kv_heads: self.kv_heads,
            key_width,
            value_width,
            scale: if self.scale == 0.0 { 1.0 / (key_width as f32).sqrt() } else { self.scale },
            past: b.has_input(PAST),
            decay: None,
            beta_heads: None,
            slots: self.window.max(1),
        })
    }
}

impl Op for LinearAttention {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let mut driver = self.sizes(b)?;
        let Driver { batch, tokens, kv_heads, key_width, value_width, .. } = driver;
        let slot = [batch, kv_heads, key_width, value_width];
        let states: Dims = (self.window > 0).then_some(self.window).into_iter().chain(slot).collect();
        let mut inputs = vec![b.input_f32(QUERY)?, b.input_f32(KEY)?, b.input_f32(VALUE)?];
        if driver.past {
            expect(b, PAST, &[&states])?;
            inputs.push(b.input_f32(PAST)?);
        }
        if self.decays {
            let forms = [[batch, tokens, kv_heads], [batch, tokens, kv_heads * key_width]];
            driver.decay = Some([Decay::Head, Decay::Key][expect(b, DECAY, &[&forms[0], &forms[1]])?]);
            inputs.push(b.input_f32(DECAY)?);
        }
        if self.delta {
            let forms = [[batch, tokens, kv_heads], [batch, tokens, 1]];
            driver.beta_heads = Some([kv_heads, 1][expect(b, BETA, &[&forms[0], &forms[1]])?]);
            inputs.push(b.input_f32(BETA)?);
        }
        let heads = driver.q_heads.max(kv_heads);
        let y = b.output_f32(0, self.dtype, &[batch, tokens, heads * value_width])?;
        let state = match b.has_output(1) {
            true => b.output_f32(1, self.state, &states)?,
            false => b.temp(DType::F32, elements(&states))?,
        };
        if elements(&states) != 0 {
            b.step(driver, &inputs, &[y, state]);
        }
        Ok(())
    }
}

/// Which of `forms` the shape of input `index` is.
fn expect(b: &Bind<'_>, index: usize, forms: &[&[usize]]) -> Result<usize, BindError> {
    let dims = b.dims(index)?;
    let found = forms.iter().position(|&form| form == dims.as_slice());
    found.ok_or_else(|| BindError::new(format!("input {index} of shape {dims:?} has none of the shapes {forms:?}")))
}

/// `decay = decay_scale * softplus(a + dt_bias)` and `beta = sigmoid(b)`; inputs a, dt_bias, decay_scale, b.
struct Gate {
    dtype: DType,
}

fn gate(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let dtype = cx.float_input(0)?;
    for index in [1, 2] {
        cx.dtype_in(index, &[DType::F32])?;
    }
    if cx.has_output(1) {
        cx.dtype_in(3, &[dtype])?;
    }
    Ok(Box::new(Gate { dtype }))
}

impl Op for Gate {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let dims = b.dims(0)?;
        let heads = Dims::from_slice(&dims[dims.len().saturating_sub(1)..]);
        for index in [1, 2] {
            expect(b, index, &[&heads])?;
        }
        let len = elements(&dims);
        let (sum, soft) = (b.temp(DType::F32, len)?, b.temp(DType::F32, len)?);
        let (a, bias, scale) = (b.input_f32(0)?, b.input(1)?, b.input(2)?);
        b.step(Arithmetic::new(ArithmeticOp::Add, DType::F32, &dims, &heads), &[a, bias], &[sum]);
        b.step(Unary::new(UnaryOp::Softplus, len), &[sum], &[soft]);
        let decay = b.output_f32(0, self.dtype, &dims)?;
        b.step(Arithmetic::new(ArithmeticOp::Mul, DType::F32, &dims, &heads), &[soft, scale], &[decay]);
        if b.has_output(1) {
            expect(b, 3, &[&dims])?;
            let (x, beta) = (b.input_f32(3)?, b.output_f32(1, self.dtype, &dims)?);
            b.step(Unary::new(UnaryOp::Sigmoid, len), &[x], &[beta]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
