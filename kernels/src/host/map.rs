use std::mem::MaybeUninit;

use rten_simd::SimdUnaryOp;

/// `y = op(x)`, element by element.
///
/// # Panics
/// When the lengths differ.
pub(crate) fn map(op: &impl SimdUnaryOp<f32>, x: &[f32], y: &mut [f32]) {
    // SAFETY: `MaybeUninit<f32>` has the layout of `f32`, and `SimdUnaryOp::map` writes initialised values only.
    let y = unsafe { &mut *(y as *mut [f32] as *mut [MaybeUninit<f32>]) };
    op.map(x, y);
}
