use std::ops::Range;

use super::Blocks;
use super::walk::Walk;
use crate::driver::RunError;
use crate::pack::{PackedWeights, panel_len};
use crate::rt::Worker;
use crate::select;
use crate::table::{Armed, MatMulFamily};
use crate::ukr::{Ahead, MatMulArgs};

/// A block of rows with its tile's padding, a panel, and whether their products are added to sums that are there.
pub(super) struct Call<'a, F: MatMulFamily> {
    pub rows: usize,
    pub groups: usize,
    pub block: &'a [F::A],
    pub panel: &'a [F::B],
    pub accumulate: bool,
    pub ahead: Ahead,
}

impl<F: MatMulFamily> Blocks<F> {
    /// `left x weights` for the columns of `panels`. Those of some panels after the other are ready: `finish` is told which, and
    /// gets the sums of all rows, as many numbers in a row as the panels have columns.
    ///
    /// # Errors
    /// Weights of another layout.
    ///
    /// # Panics
    /// When an operand is too short; `sums` has [`Blocks::sums_len`] numbers.
    pub fn multiply_panels(
        self,
        worker: &Worker<'_>,
        (left, rows): (&[F::A], usize),
        (weights, panels): (&PackedWeights, Range<usize>),
        sums: &mut [F::C],
        mut finish: impl FnMut(Range<usize>, &mut [F::C]),
    ) -> Result<(), RunError> {
        let walk = Walk::new(self, worker, (left, rows), weights);
        for first in panels.clone().step_by(self.panels()) {
            let some = first..(first + self.panels()).min(panels.end);
            let width = some.len() * self.columns();
            for (at, panel) in some.clone().enumerate() {
                let next = (panel + 1 < panels.end).then_some(panel + 1);
                walk.run((panel, next), &mut sums[at * self.columns()..], width)?;
            }
            finish(some, &mut sums[..self.tile_rows(rows) * width]);
        }
        Ok(())
    }

    /// `tile = left x panel` with `rows` packed rows; `tile` has [`Blocks::tile_rows`] rows of [`Blocks::columns`] numbers.
    ///
    /// # Panics
    /// When an operand is too short.
    pub fn multiply(self, worker: &Worker<'_>, left: &[F::A], panel: &[F::B], shape: [usize; 2], tile: &mut [F::C]) {
        self.multiply_into(worker, left, panel, shape, (tile, self.columns()), false);
    }

    /// [`Blocks::multiply`] to rows that are `stride` numbers apart, or added to them if `accumulate`.
    ///
    /// # Panics
    /// When an operand is too short.
    pub fn multiply_into(
        self,
        worker: &Worker<'_>,
        left: &[F::A],
        panel: &[F::B],
        [rows, k]: [usize; 2],
        (to, stride): (&mut [F::C], usize),
        accumulate: bool,
    ) {
        assert_eq!(panel.len(), self.panel_len(k), "length of a panel");
        let (kernel, groups) = (select::arm(self.variant, worker), self.groups(k));
        let mut left = &left[..self.left_len(rows, k)];
        for (first, count) in self.blocks(0..rows) {
            let (rows, c) = (self.tile_rows(count), &mut to[first * stride..]);
            let block;
            (block, left) = left.split_at(panel_len(rows, k, self.spec().tile.k));
            let ahead = Ahead::evenly(&left[..block.len().min(left.len())], groups);
            self.call(&kernel, &Call { rows, groups, block, panel, accumulate, ahead }, c, stride);
        }
    }

    /// `c = left x panel`, or added to `c`, for rows that [`Blocks::pack_block`] packed.
    ///
    /// # Panics
    /// When an operand is too short.
    pub fn multiply_block(
        self,
        worker: &Worker<'_>,
        left: &[F::A],
        panel: &[F::B],
        [rows, k]: [usize; 2],
        c: &mut [F::C],
        accumulate: bool,
    ) {
        if rows > 0 {
            let call = Call { rows, groups: k, block: left, panel, accumulate, ahead: Ahead::NONE };
            self.call(&select::arm(self.variant, worker), &call, c, self.columns());
        }
    }

    /// Calls the micro-kernel; rows of `c` are `stride` numbers apart.
    #[inline]
    pub(super) fn call(self, kernel: &Armed<'_, F>, call: &Call<'_, F>, c: &mut [F::C], stride: usize) {
        let &Call { rows, groups, block, panel, accumulate, ahead } = call;
        let columns = self.columns();
        assert!(stride >= columns && c.len() >= (rows - 1) * stride + columns, "rows of sums");
        let depth = groups * self.spec().tile.k;
        assert!(block.len() == depth * rows && panel.len() == depth * columns);
        let args = MatMulArgs {
            a: block.as_ptr(),
            b: panel.as_ptr(),
            c: c.as_mut_ptr(),
            c_stride: stride * size_of::<F::C>(),
            k_groups: groups,
            rows,
            accumulate,
            ahead,
        };
        // SAFETY: the slices hold the block, the panel and the rows as the assertions say; `rows` is a multiple of
        // the tile's rows within the block's, and `c` is ours alone.
        unsafe { kernel.call(&args) };
    }
}
