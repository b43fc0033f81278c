//! Functions of one f32, element by element. NaN stays NaN.

#[cfg(target_arch = "riscv64")]
mod parts;
#[cfg(target_arch = "riscv64")]
pub mod rvv_erf;
#[cfg(target_arch = "riscv64")]
pub mod rvv_exp;
#[cfg(target_arch = "riscv64")]
pub mod rvv_gelu;
#[cfg(target_arch = "riscv64")]
pub mod rvv_gelu_tanh;
#[cfg(target_arch = "riscv64")]
pub mod rvv_sigmoid;
#[cfg(target_arch = "riscv64")]
pub mod rvv_simple;
#[cfg(target_arch = "riscv64")]
pub mod rvv_tanh;
#[cfg(target_arch = "riscv64")]
pub mod single;

use crate::table::Family;

pub enum UnaryF32 {}

impl Family for UnaryF32 {
    type Args = Args;
    type Spec = Function;
    const NAME: &'static str = "unary_f32";
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    Abs,
    /// `min(max(x, alpha), beta)`
    Clip,
    Erf,
    Exp,
    /// `x/2 (1 + erf(x/sqrt 2))`
    Gelu,
    /// `x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))`
    GeluTanh,
    /// `x < 0 ? alpha x : x`
    LeakyRelu,
    Neg,
    Reciprocal,
    Relu,
    Sigmoid,
    Sqrt,
    /// `x sigmoid(alpha x)` for an `alpha` of [`ALPHAS`].
    Swish,
    Tanh,
}

/// The alphas of [`Function::Swish`], whose products with what counts of `x` neither overflow nor lose their ends.
pub const ALPHAS: std::ops::RangeInclusive<f32> = 1e-6..=1e6;

/// `len` numbers of `x` and of `y`, which may be the same.
#[repr(C)]
pub struct Args {
    pub x: *const f32,
    pub y: *mut f32,
    pub len: usize,
    /// The parameters of the function, if it has any.
    pub alpha: f32,
    pub beta: f32,
}
