use std::ops::Range;

use smallvec::SmallVec;

use super::Blocks;
use crate::driver::RunError;
use crate::isa::Isa;
use crate::pack::{PackedWeights, panel_len};
use crate::rt::Worker;
use crate::select;
use crate::table::{Armed, MatMulFamily};
use crate::ukr::{Ahead, MatMulArgs, lines};

/// Bytes that a panel is asked for ahead where it is read only once.
const LEAD: usize = 512;

/// A block of rows with its tile's padding, a panel, and whether their products are added to sums that are there.
struct Call<'a, F: MatMulFamily> {
    rows: usize,
    block: &'a [F::A],
    panel: &'a [F::B],
    accumulate: bool,
    ahead: [Ahead; 3],
}

impl<F: MatMulFamily> Blocks<F> {
    /// `left x weights` for the columns of `panels`, [`Blocks::panels`] of them after the other. Their sums are ready for some rows
    /// after the other: `finish` is told which panels and rows, and gets as many numbers in a row as the panels have columns.
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
        mut finish: impl FnMut(Range<usize>, Range<usize>, &mut [F::C]),
    ) -> Result<(), RunError> {
        let walk = Walk::new(self, worker, (left, rows), weights);
        for first in panels.clone().step_by(self.panels()) {
            let after = |first: usize| first.min(panels.end)..(first + self.panels()).min(panels.end);
            let now = after(first);
            for part in 0..walk.parts {
                let is_last = part + 1 == walk.parts;
                let pass = walk.pass(now.clone(), part)?;
                let next = if is_last { walk.pass(after(now.end), 0) } else { walk.pass(now.clone(), part + 1) }?;
                walk.run([&pass, &next], sums, |rows, sums| finish(now.clone(), rows, sums));
            }
        }
        Ok(())
    }

    /// `tile = left x panel` with `rows` packed rows; `tile` has [`Blocks::tile_rows`] rows of [`Blocks::columns`] numbers.
    ///
    /// # Panics
    /// When an operand is too short.
    pub fn multiply(self, worker: &Worker<'_>, left: &[F::A], panel: &[F::B], shape: [usize; 2], tile: &mut [F::C]) {
        self.multiply_into(worker, left, panel, shape, tile, self.columns());
    }

    /// [`Blocks::multiply`] to rows that are `stride` numbers apart.
    ///
    /// # Panics
    /// When an operand is too short.
    pub fn multiply_into(
        self,
        worker: &Worker<'_>,
        left: &[F::A],
        panel: &[F::B],
        [rows, k]: [usize; 2],
        to: &mut [F::C],
        stride: usize,
    ) {
        assert_eq!(panel.len(), self.panel_len(k), "length of a panel");
        let kernel = select::arm(self.variant, worker);
        let mut left = &left[..self.left_len(rows, k)];
        for (first, count) in self.blocks(0..rows) {
            let (rows, c) = (self.tile_rows(count), &mut to[first * stride..]);
            let block;
            (block, left) = left.split_at(panel_len(rows, k, self.spec().tile.k));
            let ahead = [Ahead::evenly(&left[..block.len().min(left.len())], self.groups(k)), Ahead::NONE, Ahead::NONE];
            self.call(&kernel, &Call { rows, block, panel, accumulate: false, ahead }, c, stride);
        }
    }

    /// Groups of a depth.
    fn groups(self, k: usize) -> usize {
        k.div_ceil(self.spec().tile.k)
    }

    /// Calls the micro-kernel; rows of `c` are `stride` numbers apart.
    #[inline]
    fn call(self, kernel: &Armed<'_, F>, call: &Call<'_, F>, c: &mut [F::C], stride: usize) {
        let &Call { rows, block, panel, accumulate, ahead } = call;
        let columns = self.columns();
        assert!(stride >= columns && c.len() >= (rows - 1) * stride + columns, "rows of sums");
        assert!(block.len() * columns == panel.len() * rows);
        let args = MatMulArgs {
            a: block.as_ptr(),
            b: panel.as_ptr(),
            c: c.as_mut_ptr(),
            c_stride: stride * size_of::<F::C>(),
            k_groups: panel.len() / (columns * self.spec().tile.k),
            rows,
            accumulate,
            ahead,
        };
        // SAFETY: the slices hold the block, the panel and the rows as the assertions say; `rows` is a multiple of
        // the tile's rows within the block's, and `c` is ours alone.
        unsafe { kernel.call(&args) };
    }
}

/// Packed rows that are multiplied with panels of a weight, a part of the depth after the other.
struct Walk<'a, F: MatMulFamily> {
    blocks: Blocks<F>,
    kernel: Armed<'a, F>,
    left: &'a [F::A],
    rows: usize,
    weights: &'a PackedWeights,
    parts: usize,
    isa: Isa,
}

/// Some panels with a part of the depth, which all rows are multiplied with.
struct Pass<'a, F: MatMulFamily> {
    part: usize,
    /// Numbers of a row or a column before the part, in it, and in all.
    depth: [usize; 3],
    panels: SmallVec<[&'a [F::B]; 4]>,
}

/// Bytes that are asked for of both operands and of the sums with each group of the depth, and all of the groups.
struct Pace {
    left: usize,
    right: usize,
    sums: usize,
    groups: usize,
}

impl<'a, F: MatMulFamily> Walk<'a, F> {
    fn new(
        blocks: Blocks<F>,
        worker: &Worker<'a>,
        (left, rows): (&'a [F::A], usize),
        weights: &'a PackedWeights,
    ) -> Self {
        let parts = blocks.parts(rows, weights.k());
        let kernel = select::arm(blocks.variant, worker);
        Self { blocks, kernel, left, rows, weights, parts, isa: worker.isa() }
    }

    fn pass(&self, panels: Range<usize>, part: usize) -> Result<Pass<'a, F>, RunError> {
        let k_group = self.blocks.spec().tile.k;
        let groups = self.blocks.groups(self.weights.k());
        let [start, end] = [part, part + 1].map(|part| groups * part / self.parts * k_group);
        let columns = self.blocks.columns();
        let panel = |index| -> Result<&'a [F::B], RunError> {
            let panel: &[F::B] = self.weights.panel(self.blocks.layout(), index)?;
            Ok(&panel[start * columns..end * columns])
        };
        Ok(Pass {
            part,
            depth: [start, end - start, groups * k_group],
            panels: panels.map(panel).collect::<Result<_, _>>()?,
        })
    }

    /// The pass's part of the block that begins with `row`.
    fn block(&self, pass: &Pass<'a, F>, row: usize) -> &'a [F::A] {
        let [before, depth, all] = pass.depth;
        let rows = self.blocks.tile_rows(self.blocks.grain().min(self.rows - row));
        &self.left[row * all + before * rows..][..depth * rows]
    }

    /// All that a pass reads is asked for evenly while the one before computes: of the left-hand side a panel's share with each
    /// panel, of the next panels a block's share with each block.
    fn pace(&self, pass: &Pass<'a, F>) -> Pace {
        let (blocks, count) = (self.blocks, pass.panels.len());
        let groups = (pass.depth[1] / blocks.spec().tile.k).max(1);
        let left = pass.depth[1] * blocks.grain() * size_of::<F::A>();
        let right = pass.depth[1] * blocks.columns() * size_of::<F::B>();
        let sums = if pass.part > 0 { blocks.grain() * blocks.columns() * size_of::<F::C>() } else { 0 };
        let shares = if self.rows <= blocks.turn() { 1 } else { self.rows.div_ceil(blocks.grain()) };
        Pace {
            left: left.div_ceil(count.max(1) * groups),
            right: right.div_ceil(shares * groups),
            sums: sums.div_ceil(groups),
            groups,
        }
    }

    /// Multiplies all rows; `finish` gets those whose sums are complete after the last part, some at a time.
    fn run(
        &self,
        [pass, next]: [&Pass<'a, F>; 2],
        sums: &mut [F::C],
        mut finish: impl FnMut(Range<usize>, &mut [F::C]),
    ) {
        let (pace, width) = (self.pace(pass), pass.panels.len() * self.blocks.columns());
        for first in (0..self.rows).step_by(self.blocks.rows()) {
            let some = first..(first + self.blocks.rows()).min(self.rows);
            let kept = if self.parts > 1 { first * width } else { 0 };
            let tile = &mut sums[kept..];
            if self.parts > 1 && pass.part == 0 {
                let numbers = self.blocks.tile_rows(some.len()) * width;
                // SAFETY: so many numbers are there, which are written before they are read.
                unsafe { lines::zero(self.isa, tile[..numbers].as_mut_ptr().cast(), [1, numbers], numbers) };
            }
            for turn in some.clone().step_by(self.blocks.turn()) {
                let end = (turn + self.blocks.turn()).min(some.end);
                for (at, panel) in pass.panels.iter().enumerate() {
                    for (row, of_block) in self.blocks.blocks(turn..end) {
                        let c = &mut tile[(row - first) * width + at * self.blocks.columns()..];
                        let ahead = self.ahead([pass, next], &pace, [turn, row, at], c, width);
                        let rows = self.blocks.tile_rows(of_block);
                        let call = Call { rows, block: self.block(pass, row), panel, accumulate: pass.part > 0, ahead };
                        self.blocks.call(&self.kernel, &call, c, width);
                    }
                }
            }
            if pass.part + 1 == self.parts {
                finish(some, tile);
            }
        }
    }

    /// What is read after the block at `row` in the turn that begins with `turn` was multiplied with panel `at`, to the sums `c`.
    /// Of the left-hand side that is the rest of the block, which later panels find there, or what comes in the next turn.
    #[inline]
    fn ahead(
        &self,
        [pass, next]: [&Pass<'a, F>; 2],
        pace: &Pace,
        [turn, row, at]: [usize; 3],
        c: &[F::C],
        width: usize,
    ) -> [Ahead; 3] {
        let (later, panels) = (row + self.blocks.turn(), pass.panels.len());
        let (block, share) = match at {
            0 if panels > 1 => (self.block(pass, row), panels - 1),
            _ if later < self.rows => (self.block(pass, later), at.saturating_sub(1)),
            _ => (self.block(next, row - turn), at.saturating_sub(1)),
        };
        let left = block.as_ptr().wrapping_byte_add(share * pace.left * pace.groups);
        let right = match next.panels.get(at) {
            _ if self.rows <= self.blocks.turn() => pass.panels[at].as_ptr().wrapping_byte_add(LEAD),
            Some(next) => next.as_ptr().wrapping_byte_add(row / self.blocks.grain() * pace.right * pace.groups),
            None => pass.panels[at].as_ptr(),
        };
        let of_next = self.blocks.grain() * width - at * self.blocks.columns();
        let sums = c.as_ptr().wrapping_add(of_next).wrapping_byte_add(at * pace.sums * pace.groups);
        let ahead = |from: *const u8, step| Ahead { from, step };
        [ahead(left.cast(), pace.left), ahead(right.cast(), pace.right), ahead(sums.cast(), pace.sums)]
    }
}
