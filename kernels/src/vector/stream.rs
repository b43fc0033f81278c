//! Products with rows that lie in memory as they are, and are read once.

use super::{power_of_two, reduce};
use crate::rt::Worker;
use crate::table::{Armed, ROW_DOTS_F32, ROW_SUMS_F32};
use crate::tensor::Element;
use crate::ukr::reduce_f32::Reduction;
use crate::ukr::row_dots_f32::{self, RowDotsF32};
use crate::ukr::row_sums_f32;
use crate::ukr::{InPlace, ROWS, Widths};

/// Bytes between a row that is used and the one that is asked for: as many lines as are on their way at a time.
const AHEAD: usize = 4 << 10;
/// Rows that are added to all sums before the next ones by strips: a line with parts of two strips is still in the first cache.
const PIECE: usize = 64;
/// Rows of a group of the kernels for any width.
const COPIES: usize = 8;
/// Numbers below it remain in the range of f16 when they are rounded.
const LIMIT: f32 = (1u32 << 15) as f32;

/// Rows of `width` elements, f32 or f16, whose beginnings are `stride` elements apart.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a, T> {
    pub data: &'a [T],
    pub stride: usize,
    pub width: usize,
}

impl<T: Element> Rows<'_, T> {
    fn hold(&self, count: usize) -> bool {
        count == 0 || self.data.len() >= (count - 1) * self.stride + self.width
    }

    fn row(&self, index: usize) -> *const u8 {
        self.data[index * self.stride..].as_ptr().cast()
    }

    fn bytes(&self) -> usize {
        self.stride * size_of::<T>()
    }

    fn ahead(&self) -> usize {
        AHEAD.next_multiple_of(self.bytes().max(1))
    }
}

/// `scores[r][t] = scale * q[r] . x[t]` for the first `count` rows of `x`; `q` has no gaps, and may be rounded to f16 if `rounds`;
/// rows of scores are `pitch` apart.
///
/// # Panics
/// When an operand is too short, or rows have no elements.
pub(crate) fn row_dots<T: Element>(
    worker: &Worker<'_>,
    q: &[f32],
    (x, count): (Rows<'_, T>, usize),
    scale: f32,
    (scores, pitch): (&mut [f32], usize),
    rounds: bool,
) -> bool {
    let rows = q.len() / x.width;
    assert!(x.hold(count) && pitch >= count && scores.len() + pitch >= rows * pitch + count);
    let fits = |spec: &InPlace| {
        let enough = spec.widths == Widths::Any || count >= spec.group;
        enough && spec.fits(T::DTYPE, [x.width, x.stride], rounds)
    };
    let mut variants = ROW_DOTS_F32.iter().filter(|row| fits(&row.spec));
    let Some((kernel, spec)) = variants.find_map(|row| Some((row.arm(worker)?, row.spec))) else {
        return false;
    };
    for first in (0..if count > 0 { rows } else { 0 }).step_by(ROWS) {
        let rows = ROWS.min(rows - first);
        let (q, scores) = (&q[first * x.width..][..rows * x.width], &mut scores[first * pitch..]);
        let shrink = if spec.rounds { shrink(worker, q, 1.0) } else { 1.0 };
        let args = row_dots_f32::Args {
            q: q.as_ptr(),
            rows,
            width: x.width,
            x: x.row(0),
            x_stride: x.bytes(),
            groups: count / spec.group,
            y: scores.as_mut_ptr(),
            y_stride: pitch * size_of::<f32>(),
            scale: scale / shrink,
            shrink,
            ahead: x.ahead(),
        };
        if count < spec.group {
            few(&kernel, args, (x, count), (scores, pitch));
            continue;
        }
        // SAFETY: `x` has these rows, and `scores` numbers for them in each row, as the assertion says.
        unsafe { kernel.call(&args) };
        if !count.is_multiple_of(spec.group) {
            // The last group ends with the last row.
            let from = count - spec.group;
            let y = scores[from..].as_mut_ptr();
            // SAFETY: as above.
            unsafe { kernel.call(&row_dots_f32::Args { x: x.row(from), y, groups: 1, ..args }) };
        }
    }
    true
}

/// The products with fewer rows than a group has, by a kernel for any width.
fn few<T: Element>(
    kernel: &Armed<'_, RowDotsF32>,
    args: row_dots_f32::Args,
    (x, count): (Rows<'_, T>, usize),
    (scores, pitch): (&mut [f32], usize),
) {
    for row in 0..count {
        let mut copies = [[0.0; COPIES]; ROWS];
        let y = copies.as_mut_ptr().cast();
        let y_stride = size_of_val(&copies[0]);
        // SAFETY: a group is one row as often as there are copies, which are ours.
        unsafe { kernel.call(&row_dots_f32::Args { x: x.row(row), x_stride: 0, groups: 1, y, y_stride, ..args }) };
        for (query, copies) in copies[..args.rows].iter().enumerate() {
            scores[query * pitch + row] = copies[0];
        }
    }
}

/// The power of two that brings the numbers of `q` times `factor` into the range of f16.
pub(crate) fn shrink(worker: &Worker<'_>, q: &[f32], factor: f32) -> f32 {
    let extremes = reduce(worker, Reduction::Extremes, q, 0.0);
    if extremes.is_some_and(|[least, greatest]| greatest.max(-least) * f64::from(factor) < LIMIT.into()) {
        return 1.0;
    }
    let finite = q.iter().map(|x| (x * factor).abs()).filter(|x| x.is_finite());
    power_of_two(finite.fold(LIMIT, f32::max))
}

/// `y[r] += sum_t weights[r][t] * x[t]` for the first `count` rows of `x`; `y` has no gaps; rows of weights, which may be rounded to
/// f16 if `rounds`, are `pitch` apart.
///
/// # Panics
/// When an operand is too short, or rows have no elements.
pub(crate) fn row_sums<T: Element>(
    worker: &Worker<'_>,
    (weights, pitch): (&[f32], usize),
    (x, count): (Rows<'_, T>, usize),
    y: &mut [f32],
    rounds: bool,
) -> bool {
    let all = y.len() / x.width;
    assert!(x.hold(count) && pitch >= count && weights.len() + pitch >= all * pitch + count);
    let mut from = 0;
    for row in ROW_SUMS_F32 {
        let InPlace { widths, group, .. } = row.spec;
        let Some(kernel) = row.arm(worker).filter(|_| row.spec.fits(T::DTYPE, [x.width, x.stride], rounds)) else {
            continue;
        };
        // What is left goes to the next variant.
        let end = count - (count - from) % group;
        let piece = if widths == Widths::Any { PIECE } else { count.max(1) };
        for (from, first) in
            (from..end).step_by(piece).flat_map(|from| (0..all).step_by(ROWS).map(move |first| (from, first)))
        {
            let args = row_sums_f32::Args {
                weights: weights[first * pitch + from..].as_ptr(),
                weights_stride: pitch * size_of::<f32>(),
                rows: ROWS.min(all - first),
                x: x.row(from),
                x_stride: x.bytes(),
                count: piece.min(end - from),
                y: y[first * x.width..].as_mut_ptr(),
                width: x.width,
                ahead: x.ahead(),
            };
            // SAFETY: `x`, the weights and `y` have these rows, as the assertion says.
            unsafe { kernel.call(&args) };
        }
        from = end;
        if group == 1 {
            return true;
        }
    }
    false
}
