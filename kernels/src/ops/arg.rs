use std::fmt;

use super::number::{Number, is_number, with_number};
use super::width::grain;
use crate::driver::{Driver, RunError};
use crate::host::vectorised;
use crate::rt::Worker;
use crate::tape::Io;
use crate::tensor::DType;

/// Which element an [`Arg`] looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgOp {
    Max,
    Min,
}

/// The index of the largest or smallest element along the middle axis.
///
/// Input `[outer, n, inner]`, output `[outer, inner]` i64. Among equals the first or the last one. NaN never wins
/// unless it comes first: then the index is 0, as ONNX Runtime has it.
pub struct Arg {
    op: ArgOp,
    dtype: DType,
    outer: usize,
    n: usize,
    inner: usize,
    last: bool,
}

/// Elements compared side by side.
const LANES: usize = 16;

impl Arg {
    /// `last` picks the last one among equals.
    ///
    /// # Panics
    /// When `n` is 0 or `dtype` is not [supported](Self::supports).
    pub fn new(op: ArgOp, dtype: DType, outer: usize, n: usize, inner: usize, last: bool) -> Self {
        assert!(n > 0, "an empty axis has no largest element");
        assert!(Self::supports(dtype), "index of an extreme of {dtype}");
        Self { op, dtype, outer, n, inner, last }
    }

    /// f32 and the integers.
    pub fn supports(dtype: DType) -> bool {
        is_number(dtype)
    }

    fn compute<T: Number>(&self, worker: &Worker<'_>, io: &Io<'_>) {
        match self.op {
            ArgOp::Max => self.search(worker, io, |a: T, b: T| a > b),
            ArgOp::Min => self.search(worker, io, |a: T, b: T| a < b),
        }
    }

    fn search<T: Number>(&self, worker: &Worker<'_>, io: &Io<'_>, beats: impl Fn(T, T) -> bool + Copy) {
        let share = worker.share(self.outer * self.inner, grain(self.n * size_of::<T>()));
        let x = io.input::<T>(0);
        // SAFETY: shares of ranks are disjoint.
        let mut y = unsafe { io.output::<i64>(0).range(share.clone()) };
        let mut at = share.start;
        while !y.is_empty() {
            let (outer, column) = (at / self.inner, at % self.inner);
            let width = y.len().min(self.inner - column).min(LANES);
            let (block, rest) = y.split_at_mut(width);
            let slab = &x[outer * self.n * self.inner..][..self.n * self.inner];
            vectorised(
                #[inline(always)]
                || match self.inner {
                    1 => block[0] = best_of_row(slab, self.last, beats) as i64,
                    _ => self.best_of_columns(&slab[column..], block, beats),
                },
            );
            y = rest;
            at += width;
        }
    }

    /// Walks down up to `LANES` neighbouring columns.
    #[inline(always)]
    fn best_of_columns<T: Number>(&self, slab: &[T], y: &mut [i64], beats: impl Fn(T, T) -> bool) {
        let mut best = [T::ZERO; LANES];
        best[..y.len()].copy_from_slice(&slab[..y.len()]);
        y.fill(0);
        for row in 1..self.n {
            let elements = &slab[row * self.inner..][..y.len()];
            for ((y, best), &x) in y.iter_mut().zip(&mut best).zip(elements) {
                if beats(x, *best) || (self.last && x == *best) {
                    *best = x;
                    *y = row as i64;
                }
            }
        }
    }
}

/// Finds the extreme value in lanes, then its place.
#[inline(always)]
fn best_of_row<T: Number>(row: &[T], last: bool, beats: impl Fn(T, T) -> bool) -> usize {
    let better = |a: T, b: T| if beats(b, a) { b } else { a };
    let mut lanes = [row[0]; LANES];
    let mut chunks = row.chunks_exact(LANES);
    for chunk in &mut chunks {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            *lane = better(*lane, x);
        }
    }
    let best = lanes.into_iter().chain(chunks.remainder().iter().copied()).fold(row[0], better);
    let is_best = |x: &T| *x == best;
    // Only a NaN equals nothing, and only the first element can have stayed the best as a NaN.
    if last { row.iter().rposition(is_best) } else { row.iter().position(is_best) }.unwrap_or(0)
}

impl fmt::Display for Arg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = format!("{:?}", self.op).to_lowercase();
        write!(f, "arg{name} {} outer={} n={} inner={}", self.dtype, self.outer, self.n, self.inner)
    }
}

impl Driver for Arg {
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        with_number!(self.dtype, T => self.compute::<T>(worker, io));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::Element;
    use crate::testing::run_one;

    fn run<T: Element>(op: ArgOp, x: &[T], shape: [usize; 3], last: bool, ranks: usize) -> Vec<i64> {
        let [outer, n, inner] = shape;
        let driver = Arg::new(op, T::DTYPE, outer, n, inner, last);
        run_one(driver, ranks, &[bytemuck::cast_slice(x)], outer * inner).unwrap()
    }

    /// The definition: one element after the other.
    fn expected<T: Number>(op: ArgOp, x: &[T], [outer, n, inner]: [usize; 3], last: bool) -> Vec<i64> {
        let at = |o: usize, i: usize| {
            let element = |k: usize| x[(o * n + k) * inner + i];
            (1..n).fold(0, |best, k| {
                let (a, b) = (element(k), element(best));
                let wins = if op == ArgOp::Max { a > b } else { a < b };
                if wins || (last && a == b) { k } else { best }
            })
        };
        (0..outer * inner).map(|y| at(y / inner, y % inner) as i64).collect()
    }

    fn check<T: Number>(of: impl Fn(usize) -> T) {
        for shape in [
            [1, 1, 1],
            [3, 1, 5],
            [4, 33, 1],
            [2, 5, 17],
            [7, 100, 3],
            [1, 16, 16],
            [1, 5000, 1],
            [300, 9, 40],
            [0, 4, 2],
            [3, 2, 0],
        ] {
            let x: Vec<T> = (0..shape.iter().product()).map(|i: usize| of(i * 7919 % 101)).collect();
            for op in [ArgOp::Max, ArgOp::Min] {
                for last in [false, true] {
                    for ranks in 1..=3 {
                        let want = expected(op, &x, shape, last);
                        assert_eq!(run(op, &x, shape, last, ranks), want, "{op:?} {shape:?} last={last}");
                    }
                }
            }
        }
    }

    #[test]
    fn every_type_with_ties() {
        check(|i| (i % 23) as f32 - 11.0);
        check(|i| (i % 23) as i32 - 11);
        check(|i| (i % 5) as u8);
        check(|i| -((i % 50) as i64) << 40);
    }

    #[test]
    fn nan_wins_only_in_front() {
        for n in [3, 5, 40] {
            let mut x = vec![1.0f32; n];
            x[2] = 7.0;
            x[1] = f32::NAN;
            for inner in [1, 2] {
                let x: Vec<f32> = x.iter().flat_map(|&x| vec![x; inner]).collect();
                assert_eq!(run(ArgOp::Max, &x, [1, n, inner], false, 1), vec![2; inner]);
                assert_eq!(run(ArgOp::Min, &x, [1, n, inner], false, 1), vec![0; inner]);
                let mut x = x;
                x[..inner].fill(f32::NAN);
                assert_eq!(run(ArgOp::Max, &x, [1, n, inner], true, 1), vec![0; inner]);
            }
        }
    }
}
