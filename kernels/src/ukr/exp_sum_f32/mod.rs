//! `y = exp(x - shift)` and the sum of `y`, the middle of a softmax.

#[cfg(target_arch = "riscv64")]
pub mod rvv;

use crate::table::Family;

pub enum ExpSumF32 {}

impl Family for ExpSumF32 {
    type Args = Args;
    type Spec = ();
    const NAME: &'static str = "exp_sum_f32";
}

/// `len` numbers of `x` and of `y`, which may be the same. A number that is larger than `shift` by more than 40 gives any result.
#[repr(C)]
pub struct Args {
    pub x: *const f32,
    pub y: *mut f32,
    pub len: usize,
    pub shift: f32,
    pub sum: *mut f64,
}
