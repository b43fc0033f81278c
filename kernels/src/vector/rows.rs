use super::find;
use crate::rt::Worker;
use crate::table::{Armed, EXP_SUM_F32, NORMALIZE_F32, REDUCE_F32};
use crate::ukr::exp_sum_f32;
use crate::ukr::normalize_f32::{self, NormalizeF32};
use crate::ukr::reduce_f32::{self, Reduction};

/// The two numbers of `reduction` over `x`; `shift` is that of moments.
pub(crate) fn reduce(worker: &Worker<'_>, reduction: Reduction, x: &[f32], shift: f32) -> Option<[f64; 2]> {
    let kernel = find(worker, REDUCE_F32, reduction)?;
    let mut result = [0.0; 2];
    // SAFETY: the slice has so many numbers, and `result` is ours.
    unsafe { kernel.call(&reduce_f32::Args { x: x.as_ptr(), len: x.len(), shift, result: &mut result }) };
    Some(result)
}

/// `y = exp(x - shift)` for numbers that are not larger than `shift`; the sum of `y`.
///
/// # Panics
/// When the lengths differ.
pub(crate) fn exp_sum(worker: &Worker<'_>, x: &[f32], y: &mut [f32], shift: f32) -> Option<f64> {
    assert_eq!(x.len(), y.len());
    // SAFETY: both have so many numbers.
    unsafe { exp_sums(worker, x.as_ptr(), y, shift) }
}

/// [`exp_sum`] of `y` itself.
pub(crate) fn exp_sum_in_place(worker: &Worker<'_>, y: &mut [f32], shift: f32) -> Option<f64> {
    // SAFETY: the numbers are `y`.
    unsafe { exp_sums(worker, y.as_ptr(), y, shift) }
}

/// Numbers that a kernel sums up in the lanes of its vectors.
const SUMMED: usize = 4096;

/// # Safety
/// There are as many numbers at `x` as in `y`.
unsafe fn exp_sums(worker: &Worker<'_>, x: *const f32, y: &mut [f32], shift: f32) -> Option<f64> {
    let kernel = find(worker, EXP_SUM_F32, ())?;
    let sum = |(index, y): (usize, &mut [f32])| {
        let mut sum = 0.0;
        // SAFETY: a part of the numbers for each part of `y`, which may be the same, and `sum` is ours.
        unsafe {
            let x = x.add(index * SUMMED);
            kernel.call(&exp_sum_f32::Args { x, y: y.as_mut_ptr(), len: y.len(), shift, sum: &mut sum });
        }
        sum
    };
    Some(y.chunks_mut(SUMMED).enumerate().map(sum).sum())
}

/// `y = ((x - mean) - residue) * scale * gamma + beta` for moments `[mean, residue, scale]` and weights `[gamma, beta]`
pub(crate) struct Normalize<'w>(Armed<'w, NormalizeF32>);

impl<'w> Normalize<'w> {
    pub fn new(worker: &Worker<'w>) -> Option<Self> {
        find(worker, NORMALIZE_F32, ()).map(Self)
    }

    /// # Panics
    /// When `x`, or a weight that is given, has another length than `y`.
    pub fn map(&self, x: &[f32], y: &mut [f32], moments: [f32; 3], weights: [Option<&[f32]>; 2]) {
        assert_eq!(x.len(), y.len());
        self.call(x.as_ptr(), y, moments, weights);
    }

    /// # Panics
    /// When a weight that is given has another length than `y`.
    pub fn map_in_place(&self, y: &mut [f32], moments: [f32; 3], weights: [Option<&[f32]>; 2]) {
        self.call(y.as_ptr(), y, moments, weights);
    }

    fn call(&self, x: *const f32, y: &mut [f32], [mean, residue, scale]: [f32; 3], weights: [Option<&[f32]>; 2]) {
        let [gamma, beta] = weights.map(|weights| {
            weights.map_or(std::ptr::null(), |weights| {
                assert_eq!(weights.len(), y.len());
                weights.as_ptr()
            })
        });
        let (len, y) = (y.len(), y.as_mut_ptr());
        let args = normalize_f32::Args { x, y, gamma, beta, len, mean, residue, scale };
        // SAFETY: both callers pass as many numbers of `x` as `y` has, and the weights are null or as long.
        unsafe { self.0.call(&args) }
    }
}
