use std::sync::Arc;

use kernels::mem::AlignedBuf;
use kernels::ops::arithmetic::{Arithmetic, ArithmeticOp};
use kernels::ops::unary::{Unary, UnaryOp};
use kernels::tensor::{DType, Dims, elements};

use super::sizes::Sizes;
use super::{A_LOG, BETA, DECAY, DT_BIAS};
use crate::ops::{Code, Decline, Lower};
use crate::plan::{Bind, BindError, Buf};

/// How the decay comes from its input.
#[derive(Clone, Copy)]
pub(super) enum DecayGate {
    Plain,
    /// `-exp(a_log) * softplus(decay + dt_bias)`
    Softplus,
    /// `bound * sigmoid(exp(a_log) * (decay + dt_bias))`
    Sigmoid {
        bound: f32,
    },
}

impl DecayGate {
    pub fn lower(cx: &Lower<'_, '_>) -> Result<Self, Decline> {
        cx.float_input(DECAY)?;
        let gate = match cx.attr_str("gate_activation", "none")? {
            "none" => return Ok(Self::Plain),
            "softplus" | "qwen" => Self::Softplus,
            "sigmoid" | "kda" => Self::Sigmoid { bound: cx.attr_float("gate_lower_bound", -5.0)? },
            other => return Err(Decline::new(Code::Attribute, format!("gate_activation '{other}' is not known"))),
        };
        for index in [A_LOG, DT_BIAS] {
            cx.dtype_in(index, &[DType::F32])?;
        }
        Ok(gate)
    }

    /// The decay in f32, and whether each key has its own.
    pub fn bind(self, b: &mut Bind<'_>, sizes: &Sizes) -> Result<(Buf, bool), BindError> {
        let dims = b.dims(DECAY)?;
        let heads: Dims = sizes.tokens.iter().copied().chain([sizes.v_heads]).collect();
        let keys: Dims = heads.iter().copied().chain([sizes.key_width]).collect();
        if ![&heads, &keys].contains(&&dims) {
            return Err(BindError::new(format!("a decay of shape {dims:?} is neither {heads:?} nor {keys:?}")));
        }
        let (by_key, x) = (dims == keys, b.input_f32(DECAY)?);
        let [a_log, bias] = match self {
            Self::Plain => return Ok((x, by_key)),
            _ => [per_head(b, A_LOG, sizes, false)?, per_head(b, DT_BIAS, sizes, by_key)?],
        };
        let dims = [sizes.rows(), sizes.v_heads, if by_key { sizes.key_width } else { 1 }];
        let mut steps = Steps { b, dims };
        let rate = steps.b.temp(DType::F32, sizes.v_heads)?;
        steps.b.step(Unary::new(UnaryOp::Exp, sizes.v_heads), &[a_log.0], &[rate]);
        let (rate, moved) = ((rate, a_log.1), steps.combine(ArithmeticOp::Add, x, bias)?);
        let gated = match self {
            Self::Sigmoid { bound } => {
                let scaled = steps.combine(ArithmeticOp::Mul, moved, rate)?;
                let open = steps.apply(UnaryOp::Sigmoid, scaled)?;
                let bound = steps.b.constant(Arc::new(AlignedBuf::copy_of(&bound.to_ne_bytes())));
                steps.combine(ArithmeticOp::Mul, open, (bound, [1, 1]))?
            }
            _ => {
                let soft = steps.apply(UnaryOp::Softplus, moved)?;
                let scaled = steps.combine(ArithmeticOp::Mul, soft, rate)?;
                steps.apply(UnaryOp::Neg, scaled)?
            }
        };
        Ok((gated, by_key))
    }
}

/// Input `index` with one number a head, or one for each of its keys.
fn per_head(b: &Bind<'_>, index: usize, sizes: &Sizes, keys: bool) -> Result<(Buf, [usize; 2]), BindError> {
    let dims = b.dims(index)?;
    let (count, heads, width) = (elements(&dims), sizes.v_heads, sizes.key_width);
    match count {
        _ if count == heads => Ok((b.input(index)?, [heads, 1])),
        _ if keys && count == heads * width => Ok((b.input(index)?, [heads, width])),
        _ => Err(BindError::new(format!("input {index} of shape {dims:?} does not fit {heads} heads"))),
    }
}

/// Steps on tensors of one shape.
struct Steps<'a, 'p> {
    b: &'a mut Bind<'p>,
    dims: [usize; 3],
}

impl Steps<'_, '_> {
    fn combine(&mut self, op: ArithmeticOp, x: Buf, (y, dims): (Buf, [usize; 2])) -> Result<Buf, BindError> {
        let result = self.b.temp(DType::F32, elements(&self.dims))?;
        self.b.step(Arithmetic::new(op, DType::F32, &self.dims, &dims), &[x, y], &[result]);
        Ok(result)
    }

    fn apply(&mut self, op: UnaryOp, x: Buf) -> Result<Buf, BindError> {
        let result = self.b.temp(DType::F32, elements(&self.dims))?;
        self.b.step(Unary::new(op, elements(&self.dims)), &[x], &[result]);
        Ok(result)
    }
}

/// Input beta in f32.
pub(super) fn beta(b: &mut Bind<'_>, sizes: &Sizes, sigmoid: bool) -> Result<Buf, BindError> {
    let dims = b.dims(BETA)?;
    let heads: Dims = sizes.tokens.iter().copied().chain([sizes.v_heads]).collect();
    if dims != heads {
        return Err(BindError::new(format!("beta has shape {dims:?}, not {heads:?}")));
    }
    let x = b.input_f32(BETA)?;
    if !sigmoid {
        return Ok(x);
    }
    Steps { b, dims: [sizes.rows(), sizes.v_heads, 1] }.apply(UnaryOp::Sigmoid, x)
}
