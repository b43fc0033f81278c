//! Reductions of f32 by the vectors of the worker's core: of rows as they are, of columns after a transpose of a block.

use super::plan::Plan;
use super::{ReduceOp, larger, smaller};
use crate::ops::walk::Walk;
use crate::rt::Worker;
use crate::tape::Io;
use crate::tensor::elements;
use crate::ukr::reduce_f32::Reduction;
use crate::ukr::unary_f32::Function;
use crate::vector;

/// Columns and rows of a block.
const COLUMNS: usize = 16;
const ROWS: usize = 256;
/// Numbers of a block.
pub(super) const STAGE: usize = COLUMNS * ROWS;
/// Numbers that are worth a call of a kernel.
const LEAST: usize = 8;

/// Reduces as [`super::Reduce`] does; `None` when that is not made for vectors or the core has none. `scratch` has [`STAGE`]
/// numbers where columns are reduced.
pub(super) fn run(op: ReduceOp, plan: &Plan, worker: &Worker<'_>, io: &Io<'_>, scratch: &mut [u8]) -> Option<()> {
    let share = plan.share::<f32>(worker);
    let is_made = !matches!(op, ReduceOp::LogSumExp | ReduceOp::Prod) && plan.reduced_len() >= LEAST;
    if !is_made || share.is_empty() {
        return None;
    }
    vector::reduce(worker, Reduction::Sum, &[], 0.0)?;
    let fold = Fold { op, worker, n: plan.reduced_len() as f64 };
    let x = io.input::<f32>(0);
    // SAFETY: shares of ranks are disjoint.
    let y = unsafe { io.output::<f32>(0).range(share.clone()) };
    match plan.reduces_rows {
        true => fold.rows(plan, share.start, x, y),
        false => fold.columns(plan, share.start, x, y, bytemuck::cast_slice_mut(scratch)),
    }
}

struct Fold<'w> {
    op: ReduceOp,
    worker: &'w Worker<'w>,
    /// Numbers that make one output.
    n: f64,
}

impl Fold<'_> {
    /// Each output folds contiguous rows of the input.
    fn rows(&self, plan: &Plan, first: usize, x: &[f32], y: &mut [f32]) -> Option<()> {
        let (outer, strides, width) = plan.reduced.split_last();
        if width < LEAST {
            return None;
        }
        let mut output = Walk::new(&plan.kept.dims, &plan.kept.strides, 0, first);
        for y in y {
            let mut row = Walk::new(outer, strides, output.offset() as isize, 0);
            let mut sum = self.none();
            for _ in 0..elements(outer) {
                sum = self.merge(sum, self.part(&x[row.offset()..][..width])?);
                row.advance();
            }
            *y = self.finish(sum);
            output.advance();
        }
        Some(())
    }

    /// Outputs that are neighbours fold columns that are neighbours.
    fn columns(&self, plan: &Plan, first: usize, x: &[f32], mut y: &mut [f32], stage: &mut [f32]) -> Option<()> {
        let (outer, strides, width) = plan.kept.split_last();
        let &[stride] = plan.reduced.strides.as_slice() else { return None };
        let (rows, stride) = (plan.reduced_len(), stride as usize);
        let mut at = first;
        while !y.is_empty() {
            let column = at % width;
            let (block, rest) = y.split_at_mut(y.len().min(width - column).min(COLUMNS));
            let start = Walk::new(outer, strides, column as isize, at / width).offset();
            let mut sums = [self.none(); COLUMNS];
            for row in (0..rows).step_by(ROWS) {
                let count = ROWS.min(rows - row);
                let x = &x[start + row * stride..];
                if !vector::transpose(self.worker, x, stride, stage, ROWS, [block.len(), count]) {
                    return None;
                }
                for (sum, line) in sums.iter_mut().zip(stage.chunks_exact(ROWS)).take(block.len()) {
                    *sum = self.merge(*sum, self.part(&line[..count])?);
                }
            }
            at += block.len();
            block.iter_mut().zip(sums).for_each(|(y, sum)| *y = self.finish(sum));
            y = rest;
        }
        Some(())
    }

    /// What no number leaves.
    fn none(&self) -> f64 {
        match self.op {
            ReduceOp::Max => f64::NEG_INFINITY,
            ReduceOp::Min => f64::INFINITY,
            _ => 0.0,
        }
    }

    fn merge(&self, a: f64, b: f64) -> f64 {
        match self.op {
            ReduceOp::Max => larger(a, b),
            ReduceOp::Min => smaller(a, b),
            _ => a + b,
        }
    }

    /// What contiguous numbers leave.
    fn part(&self, x: &[f32]) -> Option<f64> {
        let reduce = |reduction| vector::reduce(self.worker, reduction, x, 0.0);
        match self.op {
            ReduceOp::L1 => self.magnitudes(x),
            ReduceOp::L2 | ReduceOp::SumSquare => Some(reduce(Reduction::Squares)?[0]),
            // The kernel passes over NaN. A sum is NaN where there is one, and also where infinities meet.
            ReduceOp::Max | ReduceOp::Min if reduce(Reduction::Sum)?[0].is_nan() && x.iter().any(|x| x.is_nan()) => {
                Some(f64::NAN)
            }
            ReduceOp::Max => Some(reduce(Reduction::Extremes)?[1]),
            ReduceOp::Min => Some(reduce(Reduction::Extremes)?[0]),
            _ => Some(reduce(Reduction::Sum)?[0]),
        }
    }

    fn magnitudes(&self, x: &[f32]) -> Option<f64> {
        let abs = vector::Unary::new(self.worker, Function::Abs, [0.0; 2])?;
        let mut stage = [0.0; ROWS];
        x.chunks(ROWS).try_fold(0.0, |sum, x| {
            let stage = &mut stage[..x.len()];
            abs.map(x, stage);
            Some(sum + vector::reduce(self.worker, Reduction::Sum, stage, 0.0)?[0])
        })
    }

    fn finish(&self, sum: f64) -> f32 {
        match self.op {
            ReduceOp::L2 => sum.sqrt() as f32,
            ReduceOp::LogSum => sum.ln() as f32,
            ReduceOp::Mean => (sum / self.n) as f32,
            _ => sum as f32,
        }
    }
}
