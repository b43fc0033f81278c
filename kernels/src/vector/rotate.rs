use super::find;
use crate::rt::Worker;
use crate::table::ROTATE_F32;
use crate::ukr::rotate_f32::{Args, Pairs};

/// Turns the pairs of `x`, which has two numbers for each cosine and sine, to `y`.
///
/// # Panics
/// When the lengths do not fit.
pub(crate) fn rotate(worker: &Worker<'_>, pairs: Pairs, x: &[f32], y: &mut [f32], [cos, sin]: [&[f32]; 2]) -> bool {
    assert_eq!(x.len(), y.len());
    call(worker, pairs, x.as_ptr(), y, [cos, sin])
}

/// [`rotate`] of `y` itself.
pub(crate) fn rotate_in_place(worker: &Worker<'_>, pairs: Pairs, y: &mut [f32], angles: [&[f32]; 2]) -> bool {
    call(worker, pairs, y.as_ptr(), y, angles)
}

fn call(worker: &Worker<'_>, pairs: Pairs, x: *const f32, y: &mut [f32], [cos, sin]: [&[f32]; 2]) -> bool {
    assert!(y.len() == 2 * cos.len() && cos.len() == sin.len());
    let args = Args { x, y: y.as_mut_ptr(), cos: cos.as_ptr(), sin: sin.as_ptr(), pairs: cos.len() };
    // SAFETY: both callers pass as many numbers of `x` as `y` has, and the assertion makes the angles as long as `Args` wants
    // them.
    find(worker, ROTATE_F32, pairs).map(|kernel| unsafe { kernel.call(&args) }).is_some()
}
