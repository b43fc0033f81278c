use super::find;
use crate::rt::Worker;
use crate::table::ROTATE_F32;
use crate::ukr::rotate_f32::{Args, Pairs};

/// Turns the pairs of `row`, which has two numbers for each cosine and sine.
///
/// # Panics
/// When the lengths do not fit.
pub(crate) fn rotate(worker: &Worker<'_>, pairs: Pairs, row: &mut [f32], cos: &[f32], sin: &[f32]) -> bool {
    assert!(row.len() == 2 * cos.len() && cos.len() == sin.len());
    let args = Args { y: row.as_mut_ptr(), cos: cos.as_ptr(), sin: sin.as_ptr(), pairs: cos.len() };
    // SAFETY: the assertion makes all operands as long as `Args` wants them.
    find(worker, ROTATE_F32, pairs).map(|kernel| unsafe { kernel.call(&args) }).is_some()
}
