//! `y = ((x - mean) - residue) * scale * gamma + beta`, the end of a normalisation. A product with `gamma` to which `beta` is added is
//! not rounded before.

#[cfg(target_arch = "riscv64")]
pub mod rvv;

use crate::table::Family;

pub enum NormalizeF32 {}

impl Family for NormalizeF32 {
    type Args = Args;
    type Spec = ();
    const NAME: &'static str = "normalize_f32";
}

/// `len` numbers of `x` and of `y`, which may be the same, and of `gamma` and `beta` where they are not null.
#[repr(C)]
pub struct Args {
    pub x: *const f32,
    pub y: *mut f32,
    pub gamma: *const f32,
    pub beta: *const f32,
    pub len: usize,
    pub mean: f32,
    pub residue: f32,
    pub scale: f32,
}
