use super::find;
use crate::rt::Worker;
use crate::table::ROTATE_F32;
use crate::ukr::rotate_f32::{Args, Pairs};

/// Turns the pairs of `x`, which has two numbers for each cosine and sine, to `y`.
///
/// # Panics
/// When the lengths do not fit.
pub(crate) fn rotate(worker: &Worker<'_>, pairs: Pairs, x: &[f32], y: &mut [f32], angles: [&[f32]; 2]) -> bool {
    assert!(x.len() == y.len() && y.len() == 2 * angles[0].len());
    let (x, y) = (RowsAt { at: x.as_ptr(), stride: 0 }, RowsAt { at: y.as_mut_ptr(), stride: 0 });
    // SAFETY: the assertion makes both rows as long as the angles want them.
    unsafe { rotate_rows(worker, pairs, 1, x, y, angles) }
}

/// [`rotate`] of `y` itself.
pub(crate) fn rotate_in_place(worker: &Worker<'_>, pairs: Pairs, y: &mut [f32], angles: [&[f32]; 2]) -> bool {
    assert_eq!(y.len(), 2 * angles[0].len());
    let (x, y) = (RowsAt { at: y.as_ptr(), stride: 0 }, RowsAt { at: y.as_mut_ptr(), stride: 0 });
    // SAFETY: as above; the rows may be the same.
    unsafe { rotate_rows(worker, pairs, 1, x, y, angles) }
}

/// Rows in memory, `stride` numbers apart.
pub(crate) struct RowsAt<P> {
    pub at: P,
    pub stride: usize,
}

/// Turns the pairs of so many rows of `x` to `y`, all by the same angles.
///
/// # Safety
/// Every row has two numbers for each cosine. The caller may write those of `y`, which may be those of `x`.
///
/// # Panics
/// When there are not as many sines as cosines.
pub(crate) unsafe fn rotate_rows(
    worker: &Worker<'_>,
    pairs: Pairs,
    rows: usize,
    x: RowsAt<*const f32>,
    y: RowsAt<*mut f32>,
    [cos, sin]: [&[f32]; 2],
) -> bool {
    assert_eq!(cos.len(), sin.len());
    let args = Args {
        x: x.at,
        y: y.at,
        cos: cos.as_ptr(),
        sin: sin.as_ptr(),
        pairs: cos.len(),
        rows,
        x_stride: x.stride * size_of::<f32>(),
        y_stride: y.stride * size_of::<f32>(),
    };
    // SAFETY: the caller's promise, and the assertion makes the angles as long as `Args` wants them.
    find(worker, ROTATE_F32, pairs).map(|kernel| unsafe { kernel.call(&args) }).is_some()
}
