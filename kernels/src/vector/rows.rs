use super::find;
use crate::rt::Worker;
use crate::table::{Armed, EXP_SUM_F32, NORMALIZE_F32, REDUCE_F32, REDUCE_ROWS_F32};
use crate::ukr::exp_sum_f32::{self, ExpSumF32};
use crate::ukr::normalize_f32::{self, NormalizeF32};
use crate::ukr::reduce_f32::{self, ReduceF32, Reduction};
use crate::ukr::reduce_rows_f32::{self, ReduceRowsF32, RowReduction};

/// The two numbers that a reduction leaves of `x`.
pub(crate) struct Reduce<'w>(Armed<'w, ReduceF32>);

impl<'w> Reduce<'w> {
    pub fn new(worker: &Worker<'w>, reduction: Reduction) -> Option<Self> {
        find(worker, REDUCE_F32, reduction).map(Self)
    }

    /// `shift` is that of moments.
    pub fn of(&self, x: &[f32], shift: f32) -> [f64; 2] {
        let mut result = [0.0; 2];
        // SAFETY: the slice has so many numbers, and `result` is ours.
        unsafe { self.0.call(&reduce_f32::Args { x: x.as_ptr(), len: x.len(), shift, result: &mut result }) };
        result
    }

    /// The sums over `x` of a reduction that adds up in lanes of f32.
    pub fn sums(&self, x: &[f32], shift: f32) -> [f64; 2] {
        let mut sums = [0.0; 2];
        for part in x.chunks(SUMMED) {
            let [first, second] = self.of(part, shift);
            sums = [sums[0] + first, sums[1] + second];
        }
        sums
    }
}

/// [`Reduce`] once.
pub(crate) fn reduce(worker: &Worker<'_>, reduction: Reduction, x: &[f32], shift: f32) -> Option<[f64; 2]> {
    Reduce::new(worker, reduction).map(|reduce| reduce.of(x, shift))
}

/// Numbers that a kernel sums up in the lanes of its vectors.
const SUMMED: usize = 4096;

/// `y = exp(x - shift)` for numbers that are not larger than `shift`, and the sum of `y`.
pub(crate) struct ExpSum<'w>(Armed<'w, ExpSumF32>);

impl<'w> ExpSum<'w> {
    pub fn new(worker: &Worker<'w>) -> Option<Self> {
        find(worker, EXP_SUM_F32, ()).map(Self)
    }

    /// # Panics
    /// When the lengths differ.
    pub fn map(&self, x: &[f32], y: &mut [f32], shift: f32) -> f64 {
        assert_eq!(x.len(), y.len());
        // SAFETY: both have so many numbers.
        unsafe { self.call(x.as_ptr(), y, shift) }
    }

    /// # Safety
    /// There are as many numbers at `x` as in `y`.
    unsafe fn call(&self, x: *const f32, y: &mut [f32], shift: f32) -> f64 {
        let sum = |(index, y): (usize, &mut [f32])| {
            let mut sum = 0.0;
            // SAFETY: a part of the numbers for each part of `y`, which may be the same, and `sum` is ours.
            unsafe {
                let x = x.add(index * SUMMED);
                self.0.call(&exp_sum_f32::Args { x, y: y.as_mut_ptr(), len: y.len(), shift, sum: &mut sum });
            }
            sum
        };
        y.chunks_mut(SUMMED).enumerate().map(sum).sum()
    }
}

/// [`ExpSum`] of `y` itself.
pub(crate) fn exp_sum_in_place(worker: &Worker<'_>, y: &mut [f32], shift: f32) -> Option<f64> {
    // SAFETY: the numbers are `y`.
    ExpSum::new(worker).map(|exp_sum| unsafe { exp_sum.call(y.as_ptr(), y, shift) })
}

/// Most rows that are worked on together.
pub(crate) const ROWS: usize = 16;
/// Numbers of such rows, which remain in the first cache meanwhile.
const TOGETHER: usize = 2048;

/// How many rows of `len` numbers are worked on together: where registers are long a row is too short to hide the times of its
/// reductions and of a call; elsewhere lines of the second cache are what costs, and they come more evenly for one row at a time.
pub(crate) fn rows_together(worker: &Worker<'_>, len: usize) -> usize {
    if worker.isa().vlen < 1024 { 1 } else { (TOGETHER / len.max(1)).clamp(1, ROWS) }
}

/// The two numbers that a reduction leaves of each of some rows.
pub(crate) struct ReduceRows<'w>(Armed<'w, ReduceRowsF32>);

impl<'w> ReduceRows<'w> {
    pub fn new(worker: &Worker<'w>, of: RowReduction) -> Option<Self> {
        find(worker, REDUCE_ROWS_F32, of).map(Self)
    }

    /// Those of rows of `len` numbers without gaps; `false` where a row is too long for sums in lanes of f32.
    ///
    /// # Panics
    /// When there are not as many rows as `results`.
    pub fn of(&self, x: &[f32], len: usize, results: &mut [[f32; 2]]) -> bool {
        assert_eq!(x.len(), len * results.len());
        if len > SUMMED {
            return false;
        }
        if !x.is_empty() {
            let (x_stride, rows) = (len * size_of::<f32>(), results.len());
            let args = reduce_rows_f32::Args { x: x.as_ptr(), x_stride, rows, len, results: results.as_mut_ptr() };
            // SAFETY: the assertion makes it so many rows.
            unsafe { self.0.call(&args) };
        }
        true
    }
}

/// `y = ((x - mean) - residue) * scale * gamma + beta` for rows without gaps, with `[mean, residue, scale]` of each, and weights
/// `[gamma, beta]`.
pub(crate) struct Normalize<'w>(Armed<'w, NormalizeF32>);

impl<'w> Normalize<'w> {
    pub fn new(worker: &Worker<'w>) -> Option<Self> {
        find(worker, NORMALIZE_F32, ()).map(Self)
    }

    /// # Panics
    /// When `x` has another length than `y`, or a weight that is given than a row.
    pub fn map(&self, x: &[f32], y: &mut [f32], moments: &[[f32; 3]], weights: [Option<&[f32]>; 2]) {
        assert_eq!(x.len(), y.len());
        self.call(x.as_ptr(), y, moments, weights);
    }

    /// # Panics
    /// When a weight that is given has another length than a row.
    pub fn map_in_place(&self, y: &mut [f32], moments: &[[f32; 3]], weights: [Option<&[f32]>; 2]) {
        self.call(y.as_ptr(), y, moments, weights);
    }

    fn call(&self, x: *const f32, y: &mut [f32], moments: &[[f32; 3]], weights: [Option<&[f32]>; 2]) {
        let (rows, len) = (moments.len(), y.len() / moments.len().max(1));
        assert_eq!(y.len(), rows * len);
        let [gamma, beta] = weights.map(|weights| {
            weights.map_or(std::ptr::null(), |weights| {
                assert_eq!(weights.len(), len);
                weights.as_ptr()
            })
        });
        let (y, stride, moments) = (y.as_mut_ptr(), len * size_of::<f32>(), moments.as_ptr());
        let args = normalize_f32::Args { x, y, x_stride: stride, y_stride: stride, rows, len, gamma, beta, moments };
        // SAFETY: both callers pass as many numbers of `x` as `y` has, so many rows, and the weights are null or as long as one.
        unsafe { self.0.call(&args) }
    }
}
