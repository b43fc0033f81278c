//! The softmax parts of attention, vectorised over one row at a time.

use rten_simd::functional::{simd_apply, simd_map};
use rten_simd::ops::{BitOps, NumOps};
use rten_simd::{Isa, Simd, SimdIterable, SimdOp, SimdUnaryOp};
use rten_vecmath::{Exp, Tanh};

use super::UndefinedRow;
use crate::host::vectorised;
use crate::rt::Worker;
use crate::ukr::binary_f32::Function;
use crate::ukr::reduce_f32::Reduction;
use crate::ukr::unary_f32;
use crate::vector::{self, COLUMNS, SoftmaxColumns};

/// How far a score may be above what is subtracted from it. As long as none is further above, sums stay as they are; that weights are
/// up to `e^8` then costs them no digits.
pub(super) const SLACK: f32 = 8.0;

/// Folds a block of scores into the running softmax of each row.
pub(super) struct Fold<'a> {
    /// `rows x cols` scores, rows `pitch` apart; replaced by `exp(score - max)`.
    pub scores: &'a mut [f32],
    pub pitch: usize,
    pub cols: usize,
    /// Largest score of each row so far.
    pub max: &'a mut [f32],
    /// Sum of `exp(score - max)` of each row so far.
    pub sum: &'a mut [f32],
    /// Weighted values of each row so far, rescaled to the new maximum; zero before the first block.
    pub acc: &'a mut [f32],
}

impl Fold<'_> {
    pub fn run(mut self, worker: &Worker<'_>) {
        if self.in_vectors(worker).is_none() {
            self.dispatch();
        }
    }

    /// `None` when the worker's core has no vectors.
    fn in_vectors(&mut self, worker: &Worker<'_>) -> Option<()> {
        let multiply = vector::Binary::new(worker, Function::Mul)?;
        let width = self.acc.len() / self.max.len();
        for row in 0..self.max.len() {
            let scores = &mut self.scores[row * self.pitch..][..self.cols];
            let [_, greatest] = vector::reduce(worker, Reduction::Extremes, scores, 0.0)?;
            let new_max = (greatest as f32).max(self.max[row]);
            let base = finite_base(new_max);
            let rescale = (self.max[row] - base).exp();
            self.sum[row] = self.sum[row] * rescale + vector::exp_sum_in_place(worker, scores, base)? as f32;
            self.max[row] = new_max;
            if rescale != 1.0 {
                multiply.map_in_place(&mut self.acc[row * width..][..width], &[rescale]);
            }
        }
        Some(())
    }
}

impl SimdOp for Fold<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        let ops = isa.f32();
        let width = self.acc.len() / self.max.len();
        let rows = self.scores.chunks_exact_mut(self.pitch).zip(self.max).zip(self.sum);
        for (row, ((scores, max), sum)) in rows.enumerate() {
            let scores = &mut scores[..self.cols];
            let new_max = row_max(ops, scores).max(*max);
            let base = finite_base(new_max);
            let rescale = (*max - base).exp();
            *sum = *sum * rescale + exp_minus(isa, scores, base);
            *max = new_max;
            if width != 0 && rescale != 1.0 {
                let rescale = ops.splat(rescale);
                simd_apply::<_, _, _, 2>(ops, &mut self.acc[row * width..][..width], |x| ops.mul(x, rescale));
            }
        }
    }
}

/// Largest element, -inf when there is none. NaN may be passed over: it resurfaces in the sum.
#[inline(always)]
fn row_max<O: NumOps<f32>>(ops: O, row: &[f32]) -> f32 {
    let lanes = row.simd_iter(ops).fold_unroll::<4>(
        ops.splat(f32::NEG_INFINITY),
        #[inline(always)]
        |max, x| ops.max(max, x),
        #[inline(always)]
        |max, x| ops.max(max, x),
    );
    lanes.to_array().into_iter().fold(f32::NEG_INFINITY, f32::max)
}

/// Replaces each `x` by `exp(x - base)` and returns their sum.
#[inline(always)]
fn exp_minus<I: Isa>(isa: I, row: &mut [f32], base: f32) -> f32 {
    let ops = isa.f32();
    let full = row.len() / ops.len() * ops.len();
    let (body, tail) = row.split_at_mut(full);
    let base = ops.splat(base);
    let mut sum = ops.zero();
    simd_apply::<_, _, _, 4>(
        ops,
        body,
        #[inline(always)]
        |x| {
            let y = Exp::apply(isa, ops.sub(x, base));
            sum = ops.add(sum, y);
            y
        },
    );
    simd_map(
        ops,
        &mut *tail,
        #[inline(always)]
        |x| Exp::apply(isa, ops.sub(x, base)),
    );
    ops.sum(sum) + tail.iter().sum::<f32>()
}

/// The largest of `max` and of the numbers of each column of rows of [`COLUMNS`]; NaN is passed over.
pub(super) fn columns_max(worker: &Worker<'_>, scores: &[f32], mut max: [f32; COLUMNS]) -> [f32; COLUMNS] {
    match SoftmaxColumns::new(worker) {
        Some(columns) => columns.max(scores, &mut max),
        None => {
            let rows = scores.as_chunks::<COLUMNS>().0;
            rows.iter().for_each(|row| max.iter_mut().zip(row).for_each(|(max, x)| *max = max.max(*x)));
        }
    }
    max
}

/// Replaces each `x` of such rows by `exp(x - base)`, with a base for each column, and returns the sums.
pub(super) fn columns_exp(worker: &Worker<'_>, scores: &mut [f32], base: [f32; COLUMNS]) -> [f32; COLUMNS] {
    if let Some(columns) = SoftmaxColumns::new(worker) {
        return columns.exp(scores, base);
    }
    let mut sums = [0.0; COLUMNS];
    for row in scores.as_chunks_mut::<COLUMNS>().0 {
        for ((x, sum), base) in row.iter_mut().zip(&mut sums).zip(base) {
            *x = (*x - base).exp();
            *sum += *x;
        }
    }
    sums
}

/// `out = acc / sum`, or what `undefined` says where the softmax has no value. A sink is one more score, without a value.
pub(super) struct Finish<'a> {
    pub out: &'a mut [f32],
    pub acc: &'a [f32],
    pub max: f32,
    pub sum: f32,
    pub sink: Option<f32>,
    pub undefined: UndefinedRow,
}

impl Finish<'_> {
    pub fn run(self, worker: &Worker<'_>) {
        let (factor, sum) = match self.sink {
            None => (1.0, self.sum),
            Some(sink) => {
                let base = finite_base(self.max.max(sink));
                let factor = (self.max - base).exp();
                (factor, self.sum * factor + (sink - base).exp())
            }
        };
        if sum > 0.0 {
            let (factor, Self { out, acc, .. }) = (factor / sum, self);
            return match vector::Binary::new(worker, Function::Mul) {
                Some(multiply) => multiply.map(acc, &[factor], out),
                None => vectorised(
                    #[inline(always)]
                    || out.iter_mut().zip(acc).for_each(|(out, x)| *out = factor * x),
                ),
            };
        }
        let hidden = sum == 0.0;
        self.out.fill(match self.undefined {
            UndefinedRow::Zero => 0.0,
            UndefinedRow::ZeroIfHidden if hidden => 0.0,
            UndefinedRow::ZeroIfHidden | UndefinedRow::Nan => f32::NAN,
        });
    }
}

/// What to subtract from scores of which `max` is the largest: -inf would turn -inf - max into NaN where nothing is visible
/// yet.
pub(super) fn finite_base(max: f32) -> f32 {
    if max == f32::NEG_INFINITY { 0.0 } else { max }
}

/// Replaces each `x` by `factor * x`.
pub(super) fn scale(worker: &Worker<'_>, values: &mut [f32], factor: f32) {
    match vector::Binary::new(worker, Function::Mul) {
        Some(multiply) => multiply.map_in_place(values, &[factor]),
        None => vectorised(
            #[inline(always)]
            || values.iter_mut().for_each(|x| *x *= factor),
        ),
    }
}

/// Replaces each `x` by `cap * tanh(x / cap)`.
pub(super) fn softcap(worker: &Worker<'_>, scores: &mut [f32], cap: f32) {
    scale(worker, scores, 1.0 / cap);
    match vector::Unary::new(worker, unary_f32::Function::Tanh, [0.0; 2]) {
        Some(tanh) => tanh.map_in_place(scores),
        None => Tanh {}.map_mut(scores),
    }
    scale(worker, scores, cap);
}
