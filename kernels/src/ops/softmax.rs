//! Softmax and its logarithm along one axis.

use std::fmt;

use rten_simd::SimdOp;

use crate::driver::{Driver, RunError};
use crate::rt::Worker;
use crate::tape::{Io, SharedOut};
use crate::ukr::prefetch;
use crate::ukr::reduce_f32::Reduction;
use crate::ukr::reduce_rows_f32::RowReduction;
use crate::vector::{self, ROWS};

/// Elements that one rank takes at least.
const GRAIN: usize = 4096;
/// Neighbouring columns that are gathered together when the axis is not the last: one cache line.
const BLOCK: usize = 16;
/// Exponentials that are computed at once where only their sum is wanted.
const STAGE: usize = 256;

/// `y = exp(x - max) / sum(exp(x - max))` or its logarithm along the middle axis of `[outer, axis, inner]`, f32.
///
/// A row of -inf only, or one with a NaN or +inf, yields NaN.
pub struct Softmax {
    outer: usize,
    axis: usize,
    inner: usize,
    log: bool,
}

impl Softmax {
    pub fn new(outer: usize, axis: usize, inner: usize, log: bool) -> Self {
        Self { outer, axis, inner, log }
    }

    /// At most [`ROWS`] rows.
    fn rows(&self, vectors: Option<&Vectors<'_>>, x: &[f32], y: &mut [f32]) {
        if let (Some(vectors), false) = (vectors, self.log) {
            return vectors.softmax(x, y, self.axis);
        }
        for (x, y) in x.chunks_exact(self.axis).zip(y.chunks_exact_mut(self.axis)) {
            if let Some(vectors) = vectors {
                vectors.log_softmax(x, y);
                continue;
            }
            y.copy_from_slice(x);
            match self.log {
                true => rten_vecmath::LogSoftmax::new_mut(y).dispatch(),
                false => rten_vecmath::Softmax::new_mut(y).dispatch(),
            };
        }
    }

    /// The axis is the last one: rows are contiguous.
    fn run_rows(&self, worker: &Worker<'_>, x: &[f32], y: SharedOut<'_, f32>) {
        let share = worker.share(self.outer, GRAIN.div_ceil(self.axis));
        let elements = share.start * self.axis..share.end * self.axis;
        // SAFETY: shares of ranks are disjoint.
        let y = unsafe { y.range(elements.clone()) };
        let vectors = Vectors::new(worker);
        let together = vector::rows_together(worker, self.axis) * self.axis;
        let mut rows = x[elements].chunks(together).peekable();
        for y in y.chunks_mut(together) {
            let Some(x) = rows.next() else { return };
            if let (Some(_), Some(next)) = (&vectors, rows.peek()) {
                prefetch(next);
            }
            self.rows(vectors.as_ref(), x, y);
        }
    }

    /// Gathers blocks of columns as rows, and puts the results back.
    fn run_columns(&self, worker: &Worker<'_>, x: &[f32], y: SharedOut<'_, f32>, rows: &mut [f32]) {
        let (rows, results) = rows.split_at_mut(BLOCK * self.axis);
        let vectors = Vectors::new(worker);
        let blocks = self.inner.div_ceil(BLOCK);
        for unit in worker.share(self.outer * blocks, GRAIN.div_ceil(BLOCK * self.axis)) {
            let first = unit % blocks * BLOCK;
            let width = BLOCK.min(self.inner - first);
            let at = |step: usize| (unit / blocks * self.axis + step) * self.inner + first;
            for step in 0..self.axis {
                for (column, value) in x[at(step)..][..width].iter().enumerate() {
                    rows[column * self.axis + step] = *value;
                }
            }
            let columns = width * self.axis;
            self.rows(vectors.as_ref(), &rows[..columns], &mut results[..columns]);
            for step in 0..self.axis {
                // SAFETY: shares of ranks are disjoint, and so are the blocks of different units.
                let y = unsafe { y.range(at(step)..at(step) + width) };
                for (column, value) in y.iter_mut().enumerate() {
                    *value = results[column * self.axis + step];
                }
            }
        }
    }
}

/// The kernels of a worker whose core has vectors.
struct Vectors<'w> {
    rows: vector::ReduceRows<'w>,
    /// The same of one row.
    greatest: vector::Reduce<'w>,
    exp_sum: vector::ExpSum<'w>,
    normalize: vector::Normalize<'w>,
}

impl<'w> Vectors<'w> {
    fn new(worker: &Worker<'w>) -> Option<Self> {
        Some(Self {
            rows: vector::ReduceRows::new(worker, RowReduction::Greatest)?,
            greatest: vector::Reduce::new(worker, Reduction::Greatest)?,
            exp_sum: vector::ExpSum::new(worker)?,
            normalize: vector::Normalize::new(worker)?,
        })
    }

    /// At most [`ROWS`] rows of `axis` numbers.
    fn softmax(&self, x: &[f32], y: &mut [f32], axis: usize) {
        let rows = x.len() / axis;
        let (mut greatest, mut moments) = ([[0.0; 2]; ROWS], [[0.0; 3]; ROWS]);
        let are_known = rows > 1 && self.rows.of(x, axis, &mut greatest[..rows]);
        for (row, (x, y)) in x.chunks_exact(axis).zip(y.chunks_exact_mut(axis)).enumerate() {
            let greatest = if are_known { greatest[row][0] } else { self.greatest.of(x, 0.0)[0] as f32 };
            moments[row][2] = (1.0 / self.exp_sum.map(x, y, greatest)) as f32;
        }
        self.normalize.map_in_place(y, &moments[..rows], [None; 2]);
    }

    fn log_softmax(&self, x: &[f32], y: &mut [f32]) {
        let [greatest, _] = self.greatest.of(x, 0.0).map(|number| number as f32);
        let mut stage = [0.0; STAGE];
        let sum: f64 = x.chunks(STAGE).map(|part| self.exp_sum.map(part, &mut stage[..part.len()], greatest)).sum();
        self.normalize.map(x, y, &[[greatest, sum.ln() as f32, 1.0]], [None; 2]);
    }
}

impl fmt::Display for Softmax {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.log { "log_softmax" } else { "softmax" };
        write!(f, "{name} {}x{}x{}", self.outer, self.axis, self.inner)
    }
}

impl Driver for Softmax {
    fn scratch(&self) -> usize {
        if self.inner == 1 { 0 } else { 2 * BLOCK * self.axis * size_of::<f32>() }
    }

    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, scratch: &mut [u8]) -> Result<(), RunError> {
        let (x, y) = (io.input::<f32>(0), io.output::<f32>(0));
        if x.is_empty() {
            return Ok(());
        }
        match self.inner {
            1 => self.run_rows(worker, x, y),
            _ => self.run_columns(worker, x, y, bytemuck::cast_slice_mut(scratch)),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{reference, testing};

    fn check(outer: usize, axis: usize, inner: usize, x: &[f32]) {
        for log in [false, true] {
            let expected = reference::softmax::softmax(x, [outer, axis, inner], log);
            for ranks in 1..=3 {
                let driver = Softmax::new(outer, axis, inner, log);
                let y: Vec<f32> = testing::run_one(driver, ranks, &[bytemuck::cast_slice(x)], x.len()).unwrap();
                for (index, (y, expected)) in y.iter().zip(&expected).enumerate() {
                    // The sum rounds `axis` times, a difference of up to 20 by up to 20 eps, and the logarithm by its own size.
                    let size = if log { expected.abs() + 4.0 } else { expected.abs() + f64::from(f32::MIN_POSITIVE) };
                    let tolerance = f64::from(f32::EPSILON) * (axis + 24) as f64 * size;
                    let same = *y == *expected as f32 || (y.is_nan() && expected.is_nan());
                    let close = (f64::from(*y) - expected).abs() <= tolerance;
                    assert!(same || close, "{outer}x{axis}x{inner} log={log} at {index}: {y} instead of {expected}");
                }
            }
        }
    }

    #[test]
    fn matches_the_reference_along_every_axis() {
        for outer in [0, 1, 3, 40] {
            for axis in [1, 2, 16, 17, 100] {
                for inner in [1, 2, 15, 16, 17, 33] {
                    let value = |index: usize| ((index * 7919) % 1013) as f32 / 50.0 - 10.0;
                    let x: Vec<f32> = (0..outer * axis * inner).map(value).collect();
                    check(outer, axis, inner, &x);
                }
            }
        }
        check(3, 0, 4, &[]);
        check(3, 4, 0, &[]);
    }

    #[test]
    fn infinities_and_nan_behave_as_the_formula() {
        let (inf, nan) = (f32::INFINITY, f32::NAN);
        check(1, 3, 1, &[-inf, 0.0, 1.0]);
        check(3, 2, 1, &[-inf, -inf, nan, 0.0, inf, 0.0]);
        check(1, 2, 3, &[-inf, nan, inf, -inf, 0.0, 0.0]);
        check(2, 2, 1, &[f32::MIN, f32::MIN, f32::MAX, f32::MIN]);
    }
}
