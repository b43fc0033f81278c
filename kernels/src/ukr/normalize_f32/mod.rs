//! `y = ((x - mean) - residue) * scale * gamma + beta`, the end of a normalisation of rows. A product with `gamma` to which `beta` is
//! added is not rounded before.

#[cfg(target_arch = "riscv64")]
pub mod rvv;

use crate::table::Family;

pub enum NormalizeF32 {}

impl Family for NormalizeF32 {
    type Args = Args;
    type Spec = ();
    const NAME: &'static str = "normalize_f32";
}

/// `rows` rows of `len` numbers of `x` and of `y`, which may be the same; `gamma` and `beta` have `len` numbers where they are not
/// null, and `moments` the mean, the residue and the scale of each row.
#[repr(C)]
pub struct Args {
    pub x: *const f32,
    pub y: *mut f32,
    /// Bytes from one row to the next.
    pub x_stride: usize,
    pub y_stride: usize,
    pub rows: usize,
    pub len: usize,
    pub gamma: *const f32,
    pub beta: *const f32,
    pub moments: *const [f32; 3],
}
