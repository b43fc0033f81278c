use std::fmt;
use std::ops::Range;

use super::Fold;
use crate::host::vectorised;
use crate::ops::walk::{Strides, Walk};
use crate::ops::width::grain;
use crate::rt::Worker;
use crate::tape::Io;
use crate::tensor::{Dims, Element, elements, row_major_strides};

/// Accumulators side by side: partial results of a row, or neighbouring outputs.
const LANES: usize = 16;

/// Which input elements belong to which output: the kept axes walk the outputs, the reduced axes walk each output's
/// elements. Neighbouring axes of one kind are merged.
pub(super) struct Plan {
    pub kept: Axes,
    pub reduced: Axes,
    /// The last axis, contiguous in the input, is a reduced one.
    pub reduces_rows: bool,
}

#[derive(Default)]
pub(super) struct Axes {
    pub dims: Dims,
    pub strides: Strides,
}

impl Axes {
    fn len(&self) -> usize {
        elements(&self.dims)
    }

    /// All axes but the last one, and the length of that, which is contiguous.
    pub fn split_last(&self) -> (&[usize], &[isize], usize) {
        match self.dims.split_last() {
            Some((&len, outer)) => (outer, &self.strides[..outer.len()], len),
            None => (&[], &[], 1),
        }
    }
}

impl Plan {
    pub fn new(dims: &[usize], reduced: &[bool]) -> Self {
        assert_eq!(dims.len(), reduced.len());
        let strides = row_major_strides(dims);
        let mut plan = Self { kept: Axes::default(), reduced: Axes::default(), reduces_rows: true };
        let mut previous = None;
        for ((&dim, &stride), &reduces) in dims.iter().zip(&strides).zip(reduced).filter(|&((&dim, _), _)| dim != 1) {
            let axes = if reduces { &mut plan.reduced } else { &mut plan.kept };
            match (axes.dims.last_mut(), axes.strides.last_mut()) {
                (Some(outer), Some(outer_stride)) if previous == Some(reduces) => {
                    *outer = outer.saturating_mul(dim);
                    *outer_stride = stride as isize;
                }
                _ => {
                    axes.dims.push(dim);
                    axes.strides.push(stride as isize);
                }
            }
            previous = Some(reduces);
        }
        plan.reduces_rows = previous != Some(false);
        plan
    }

    /// Elements that make one output.
    pub fn reduced_len(&self) -> usize {
        self.reduced.len()
    }

    /// The outputs of a rank.
    pub fn share<X>(&self, worker: &Worker<'_>) -> Range<usize> {
        let bytes_of_output = self.reduced_len().saturating_mul(size_of::<X>());
        worker.share(self.kept.len(), grain(bytes_of_output).next_multiple_of(LANES))
    }

    pub fn run<X, A, Step, Merge, Finish>(&self, worker: &Worker<'_>, io: &Io<'_>, fold: Fold<A, Step, Merge, Finish>)
    where
        X: Element,
        A: Copy,
        Step: Fn(A, X) -> A,
        Merge: Fn(A, A) -> A,
        Finish: Fn(A) -> X,
    {
        let share = self.share::<X>(worker);
        if share.is_empty() {
            return;
        }
        let x = io.input::<X>(0);
        // SAFETY: shares of ranks are disjoint.
        let y = unsafe { io.output::<X>(0).range(share.clone()) };
        if self.reduced_len() == 0 {
            y.fill((fold.finish)(fold.init));
            return;
        }
        vectorised(
            #[inline(always)]
            || {
                if self.reduces_rows {
                    self.reduce_rows(share.start, x, y, &fold);
                } else {
                    self.reduce_columns(share.start, x, y, &fold);
                }
            },
        );
    }

    /// Each output folds contiguous rows of the input.
    #[inline(always)]
    fn reduce_rows<X, A, Step, Merge, Finish>(
        &self,
        first: usize,
        x: &[X],
        y: &mut [X],
        fold: &Fold<A, Step, Merge, Finish>,
    ) where
        X: Element,
        A: Copy,
        Step: Fn(A, X) -> A,
        Merge: Fn(A, A) -> A,
        Finish: Fn(A) -> X,
    {
        let (outer, strides, width) = self.reduced.split_last();
        let rows = elements(outer);
        let mut output = Walk::new(&self.kept.dims, &self.kept.strides, 0, first);
        for y in y {
            let mut lanes = [fold.init; LANES];
            let mut row = Walk::new(outer, strides, output.offset() as isize, 0);
            for _ in 0..rows {
                let mut chunks = x[row.offset()..row.offset() + width].chunks_exact(LANES);
                for chunk in &mut chunks {
                    lanes.iter_mut().zip(chunk).for_each(|(lane, &x)| *lane = (fold.step)(*lane, x));
                }
                for (lane, &x) in lanes.iter_mut().zip(chunks.remainder()) {
                    *lane = (fold.step)(*lane, x);
                }
                row.advance();
            }
            *y = (fold.finish)(lanes.into_iter().fold(fold.init, &fold.merge));
            output.advance();
        }
    }

    /// Outputs that are neighbours fold columns that are neighbours.
    #[inline(always)]
    fn reduce_columns<X, A, Step, Merge, Finish>(
        &self,
        first: usize,
        x: &[X],
        y: &mut [X],
        fold: &Fold<A, Step, Merge, Finish>,
    ) where
        X: Element,
        A: Copy,
        Step: Fn(A, X) -> A,
        Finish: Fn(A) -> X,
    {
        let (outer, strides, width) = self.kept.split_last();
        let rows = self.reduced_len();
        let mut y = y;
        let mut at = first;
        while !y.is_empty() {
            let column = at % width;
            let (block, rest) = y.split_at_mut(y.len().min(width - column).min(4 * LANES));
            let start = Walk::new(outer, strides, column as isize, at / width).offset();
            let mut lanes = [fold.init; 4 * LANES];
            let mut row = Walk::new(&self.reduced.dims, &self.reduced.strides, start as isize, 0);
            for _ in 0..rows {
                let elements = &x[row.offset()..row.offset() + block.len()];
                lanes.iter_mut().zip(elements).for_each(|(lane, &x)| *lane = (fold.step)(*lane, x));
                row.advance();
            }
            at += block.len();
            block.iter_mut().zip(lanes).for_each(|(y, lane)| *y = (fold.finish)(lane));
            y = rest;
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let last = if self.reduces_rows { "rows" } else { "columns" };
        write!(f, "{last} kept={:?} reduced={:?}", self.kept.dims, self.reduced.dims)
    }
}
