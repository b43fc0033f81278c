use std::ops::Range;

use rten_simd::ops::{BitOps, NumOps, ToFloat};
use rten_simd::{Isa, SimdOp};

use crate::ops::epilogue::{Accumulators, Block, load, store};
use crate::rt::Worker;
use crate::tape::SharedOut;
use crate::vector;

/// The integer sums of a block, with what their zero points subtract.
#[derive(Clone, Copy)]
pub(in crate::ops) struct Sums<'a> {
    /// Row-major, with `columns` in a row: those of the block first.
    pub sums: &'a [i32],
    pub columns: usize,
    /// For each row of the block: the zero point `az` of the left-hand side, as multiplied.
    pub a_zero_points: &'a [i32],
    /// For each column of the block: `sum b`.
    pub column_sums: &'a [i32],
    /// For each row of the block: `sum a - k az`. Read only where `b_zero_points` are.
    pub row_sums: &'a [i32],
    /// For each column of the block: the zero point `bz`, as multiplied. Empty when all are 0.
    pub b_zero_points: &'a [i32],
}

impl Sums<'_> {
    /// Elements `column..column + lanes` of a row of the block, zero points applied.
    #[inline(always)]
    fn load<I: Isa>(&self, isa: I, row: usize, column: usize, lanes: usize) -> I::I32 {
        let ops = isa.i32();
        let sums = load(ops, &self.sums[row * self.columns + column..], lanes);
        let column_sums = load(ops, &self.column_sums[column..], lanes);
        let sums = ops.sub(sums, ops.mul(ops.splat(self.a_zero_points[row]), column_sums));
        if self.b_zero_points.is_empty() {
            return sums;
        }
        let zero_points = load(ops, &self.b_zero_points[column..], lanes);
        ops.sub(sums, ops.mul(ops.splat(self.row_sums[row]), zero_points))
    }

    /// Stores the block in `out`, which has `n` columns.
    ///
    /// # Safety
    /// No other rank touches the block of the output, and the caller holds no slice of it.
    pub unsafe fn store(self, block: &Block, out: SharedOut<'_, i32>, n: usize) {
        Store { sums: self, block, out, n }.dispatch();
    }
}

/// Sums times the scales of both sides.
pub(super) struct Scaled<'a> {
    pub sums: Sums<'a>,
    pub a_scale: f32,
    /// For each column of the block.
    pub b_scales: &'a [f32],
}

impl Accumulators for Scaled<'_> {
    #[inline(always)]
    fn load<I: Isa>(&self, isa: I, row: usize, column: usize, lanes: usize) -> I::F32 {
        let ops = isa.f32();
        let scales = ops.mul(ops.splat(self.a_scale), load(ops, &self.b_scales[column..], lanes));
        ops.mul(isa.i32().to_float(self.sums.load(isa, row, column, lanes)), scales)
    }

    fn row(&self, worker: &Worker<'_>, row: usize, y: &mut [f32]) -> bool {
        let len = y.len();
        // SAFETY: `y` is one row of so many numbers.
        unsafe { self.rescale(row..row + 1, len, &[]).store(worker, [1, len], y.as_mut_ptr(), len) }
    }

    unsafe fn rows(
        &self,
        worker: &Worker<'_>,
        rows: Range<usize>,
        columns: usize,
        bias: &[f32],
        y: *mut f32,
        n: usize,
    ) -> bool {
        let count = rows.len();
        // SAFETY: the caller's promise.
        unsafe { self.rescale(rows, columns, bias).store(worker, [count, columns], y, n) }
    }
}

impl Scaled<'_> {
    /// The first `columns` columns of some rows of the block, with their bias.
    fn rescale<'a>(&'a self, rows: Range<usize>, columns: usize, bias: &'a [f32]) -> vector::Rescale<'a> {
        let sums = &self.sums;
        let has_zero_points = !sums.b_zero_points.is_empty();
        vector::Rescale {
            sums: &sums.sums[rows.start * sums.columns..],
            stride: sums.columns,
            column_sums: &sums.column_sums[..columns],
            b_zero_points: if has_zero_points { &sums.b_zero_points[..columns] } else { &[] },
            b_scales: &self.b_scales[..columns],
            bias,
            a_zero_points: &sums.a_zero_points[rows.clone()],
            row_sums: if has_zero_points { &sums.row_sums[rows] } else { &[] },
            a_scale: self.a_scale,
        }
    }
}

struct Store<'a> {
    sums: Sums<'a>,
    block: &'a Block,
    out: SharedOut<'a, i32>,
    n: usize,
}

impl SimdOp for Store<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        let (ops, Block { rows, columns }) = (isa.i32(), self.block);
        for row in rows.clone() {
            let start = row * self.n;
            // SAFETY: the contract of `Sums::store` makes the block ours, and rows do not overlap.
            let out = unsafe { self.out.range(start + columns.start..start + columns.end) };
            for (index, out) in out.chunks_mut(ops.len()).enumerate() {
                store(ops, self.sums.load(isa, row - rows.start, index * ops.len(), out.len()), out);
            }
        }
    }
}
