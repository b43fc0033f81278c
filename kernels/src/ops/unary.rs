use std::fmt;

use rten_vecmath::{ApproxGelu, Exp, Sigmoid, Swish, Tanh};

use super::width::grain;
use crate::driver::{Driver, RunError};
use crate::host::{Erf, Gelu, map, vectorised};
use crate::rt::Worker;
use crate::tape::Io;
use crate::ukr::unary_f32::Function;
use crate::vector;

/// A function of one f32. NaN gives NaN unless noted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum UnaryOp {
    Abs,
    Acos,
    Acosh,
    Asin,
    Asinh,
    Atan,
    Atanh,
    Ceil,
    /// `max(0, x) + min(0, alpha * (exp(x / alpha) - 1))`
    Celu {
        alpha: f32,
    },
    Cos,
    Cosh,
    /// `x < 0 ? alpha * (exp(x) - 1) : x`
    Elu {
        alpha: f32,
    },
    Erf,
    Exp,
    Floor,
    /// `x/2 * (1 + erf(x / sqrt(2)))`
    Gelu,
    /// `x/2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))`
    GeluTanh,
    /// `clamp(alpha * x + beta, 0, 1)`
    HardSigmoid {
        alpha: f32,
        beta: f32,
    },
    /// `x * clamp(x / 6 + 1/2, 0, 1)`
    HardSwish,
    /// `x < 0 ? alpha * x : x`
    LeakyRelu {
        alpha: f32,
    },
    Log,
    /// `x * tanh(ln(1 + exp(x)))`
    Mish,
    Neg,
    Reciprocal,
    Relu,
    /// To the nearest integer, ties to even.
    Round,
    /// `x > 0 ? gamma * x : gamma * alpha * (exp(x) - 1)`
    Selu {
        alpha: f32,
        gamma: f32,
    },
    Sigmoid,
    /// -1, 0 or 1.
    Sign,
    Sin,
    Sinh,
    /// `ln(1 + exp(x))`
    Softplus,
    /// `x / (1 + |x|)`
    Softsign,
    Sqrt,
    /// `x * sigmoid(alpha * x)`
    Swish {
        alpha: f32,
    },
    Tan,
    Tanh,
    /// `x > alpha ? x : 0`; NaN gives 0.
    ThresholdedRelu {
        alpha: f32,
    },
}

/// `y = op(x)` on `len` f32; one input, one output.
pub struct Unary {
    op: UnaryOp,
    len: usize,
}

impl Unary {
    pub fn new(op: UnaryOp, len: usize) -> Self {
        Self { op, len }
    }
}

impl UnaryOp {
    /// The function in the vectors of the worker's core, where it has it.
    fn vectors<'w>(self, worker: &Worker<'w>) -> Option<vector::Unary<'w>> {
        let (function, alpha) = match self {
            UnaryOp::Abs => (Function::Abs, 0.0),
            UnaryOp::Erf => (Function::Erf, 0.0),
            UnaryOp::Exp => (Function::Exp, 0.0),
            UnaryOp::Gelu => (Function::Gelu, 0.0),
            UnaryOp::GeluTanh => (Function::GeluTanh, 0.0),
            UnaryOp::LeakyRelu { alpha } => (Function::LeakyRelu, alpha),
            UnaryOp::Neg => (Function::Neg, 0.0),
            UnaryOp::Reciprocal => (Function::Reciprocal, 0.0),
            UnaryOp::Relu => (Function::Relu, 0.0),
            UnaryOp::Sigmoid => (Function::Sigmoid, 0.0),
            UnaryOp::Sqrt => (Function::Sqrt, 0.0),
            UnaryOp::Swish { alpha } => (Function::Swish, alpha),
            UnaryOp::Tanh => (Function::Tanh, 0.0),
            _ => return None,
        };
        vector::Unary::new(worker, function, [alpha, 0.0])
    }

    /// Applies the function to the elements of `x`.
    fn apply(self, x: &[f32], y: &mut [f32]) {
        match self {
            UnaryOp::Abs => wide(x, y, f32::abs),
            UnaryOp::Acos => each(x, y, f32::acos),
            UnaryOp::Acosh => each(x, y, |x| f64::from(x).acosh() as f32),
            UnaryOp::Asin => each(x, y, f32::asin),
            UnaryOp::Asinh => each(x, y, asinh),
            UnaryOp::Atan => each(x, y, f32::atan),
            UnaryOp::Atanh => each(x, y, |x| f64::from(x).atanh() as f32),
            UnaryOp::Ceil => wide(x, y, f32::ceil),
            UnaryOp::Celu { alpha } => each(x, y, |x| if x < 0.0 { alpha * (x / alpha).exp_m1() } else { x }),
            UnaryOp::Cos => each(x, y, f32::cos),
            UnaryOp::Cosh => each(x, y, f32::cosh),
            UnaryOp::Elu { alpha } => each(x, y, |x| if x < 0.0 { alpha * x.exp_m1() } else { x }),
            UnaryOp::Erf => map(&Erf, x, y),
            UnaryOp::Exp => map(&Exp {}, x, y),
            UnaryOp::Floor => wide(x, y, f32::floor),
            UnaryOp::Gelu => map(&Gelu, x, y),
            UnaryOp::GeluTanh => map(&ApproxGelu {}, x, y),
            UnaryOp::HardSigmoid { alpha, beta } => wide(x, y, |x| (alpha * x + beta).clamp(0.0, 1.0)),
            UnaryOp::HardSwish => wide(x, y, |x| x * (x / 6.0 + 0.5).clamp(0.0, 1.0)),
            UnaryOp::LeakyRelu { alpha } => wide(x, y, |x| if x < 0.0 { alpha * x } else { x }),
            UnaryOp::Log => each(x, y, f32::ln),
            UnaryOp::Mish => each(x, y, |x| x * softplus(x).tanh()),
            UnaryOp::Neg => wide(x, y, |x| -x),
            UnaryOp::Reciprocal => wide(x, y, |x| 1.0 / x),
            UnaryOp::Relu => wide(x, y, |x| if x < 0.0 { 0.0 } else { x }),
            UnaryOp::Round => wide(x, y, f32::round_ties_even),
            UnaryOp::Selu { alpha, gamma } => {
                each(x, y, |x| gamma * if x > 0.0 { x } else { alpha * x.exp_m1() });
            }
            UnaryOp::Sigmoid => map(&Sigmoid {}, x, y),
            UnaryOp::Sign => wide(x, y, |x| if x == 0.0 || x.is_nan() { x } else { 1f32.copysign(x) }),
            UnaryOp::Sin => each(x, y, f32::sin),
            UnaryOp::Sinh => each(x, y, f32::sinh),
            UnaryOp::Softplus => each(x, y, softplus),
            UnaryOp::Softsign => wide(x, y, |x| x / (1.0 + x.abs())),
            UnaryOp::Sqrt => wide(x, y, f32::sqrt),
            UnaryOp::Swish { alpha } => map(&Swish { alpha }, x, y),
            UnaryOp::Tan => each(x, y, f32::tan),
            UnaryOp::Tanh => map(&Tanh {}, x, y),
            UnaryOp::ThresholdedRelu { alpha } => wide(x, y, |x| if x > alpha { x } else { 0.0 }),
        }
    }
}

#[inline(always)]
fn each(x: &[f32], y: &mut [f32], f: impl Fn(f32) -> f32) {
    y.iter_mut().zip(x).for_each(|(y, &x)| *y = f(x));
}

/// [`each`] for functions of few instructions, which the compiler vectorises.
fn wide(x: &[f32], y: &mut [f32], f: impl Fn(f32) -> f32) {
    vectorised(
        #[inline(always)]
        || each(x, y, f),
    );
}

/// `asinh(x)`. The standard library's would need `hypot` of glibc 2.35, younger than the systems that wheels support.
fn asinh(x: f32) -> f32 {
    if !x.is_finite() {
        return x;
    }
    let a = f64::from(x).abs();
    (a + a * a / (1.0 + (a * a + 1.0).sqrt())).ln_1p().copysign(x.into()) as f32
}

/// `ln(1 + exp(x))` without overflow.
fn softplus(x: f32) -> f32 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

impl fmt::Display for Unary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} f32 len={}", format!("{:?}", self.op).to_lowercase(), self.len)
    }
}

impl Driver for Unary {
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        let share = worker.share(self.len, grain(4 * size_of::<f32>()));
        // SAFETY: shares of ranks are disjoint.
        let y = unsafe { io.output::<f32>(0).range(share.clone()) };
        let x = &io.input::<f32>(0)[share];
        match self.op.vectors(worker) {
            Some(function) => function.map(x, y),
            None => self.op.apply(x, y),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
