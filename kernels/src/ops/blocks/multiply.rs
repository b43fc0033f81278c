use std::ops::Range;

use super::Blocks;
use crate::driver::RunError;
use crate::pack::{PackedWeights, panel_len};
use crate::rt::Worker;
use crate::select;
use crate::table::{Armed, MatMulFamily};
use crate::ukr::{Ahead, MatMulArgs};

/// Bytes that a panel is asked for ahead where it is read only once.
const LEAD: usize = 512;

/// A block of rows, a panel and where their sums go.
struct Call<'a, F: MatMulFamily> {
    /// Those of the block, padding included.
    rows: usize,
    block: &'a [F::A],
    panel: &'a [F::B],
    c: &'a mut [F::C],
    /// Numbers from one row of `c` to the next.
    stride: usize,
    accumulate: bool,
    ahead: [Ahead; 3],
}

/// Share `index` of `count` of some numbers.
fn share<T>(numbers: &[T], index: usize, count: usize) -> &[T] {
    &numbers[numbers.len() * index / count..numbers.len() * (index + 1) / count]
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
        let kernel = select::arm(self.variant, worker);
        let walk = Walk { blocks: self, left, rows, weights, parts: self.parts(rows, weights.k()) };
        for first in panels.clone().step_by(self.panels()) {
            let after = |first: usize| first.min(panels.end)..(first + self.panels()).min(panels.end);
            let panels = after(first);
            for part in 0..walk.parts {
                let is_last = part + 1 == walk.parts;
                let now = Pass { panels: panels.clone(), part };
                let next = if is_last {
                    Pass { panels: after(panels.end), part: 0 }
                } else {
                    Pass { part: part + 1, ..now.clone() }
                };
                for first in (0..rows).step_by(self.turn()) {
                    let turn = first..(first + self.turn()).min(rows);
                    let tile = walk.turn(&kernel, [&now, &next], turn.clone(), sums)?;
                    if is_last {
                        finish(panels.clone(), turn, tile);
                    }
                }
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
            self.call(&kernel, Call { rows, block, panel, c, stride, accumulate: false, ahead });
        }
    }

    /// Groups of a depth.
    fn groups(self, k: usize) -> usize {
        k.div_ceil(self.spec().tile.k)
    }

    /// Calls the micro-kernel.
    fn call(self, kernel: &Armed<'_, F>, call: Call<'_, F>) {
        let Call { rows, block, panel, c, stride, accumulate, ahead } = call;
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

/// Some panels with a part of the depth, which all rows are multiplied with.
#[derive(Clone)]
struct Pass {
    panels: Range<usize>,
    part: usize,
}

/// Packed rows that are multiplied with panels of a weight, a part of the depth after the other.
struct Walk<'a, F: MatMulFamily> {
    blocks: Blocks<F>,
    left: &'a [F::A],
    rows: usize,
    weights: &'a PackedWeights,
    parts: usize,
}

impl<'a, F: MatMulFamily> Walk<'a, F> {
    /// Numbers of a row and of a column before a part.
    fn depth(&self, part: usize) -> usize {
        self.blocks.groups(self.weights.k()) * part / self.parts * self.blocks.spec().tile.k
    }

    /// A part of the block that begins with `row`.
    fn block(&self, row: usize, part: usize) -> &'a [F::A] {
        let rows = self.blocks.tile_rows(self.blocks.grain().min(self.rows - row));
        let start = row * self.depth(self.parts);
        &self.left[start + self.depth(part) * rows..start + self.depth(part + 1) * rows]
    }

    fn panel(&self, index: usize, part: usize) -> Result<&'a [F::B], RunError> {
        let columns = self.blocks.columns();
        let panel: &[F::B] = self.weights.panel(self.blocks.layout(), index)?;
        Ok(&panel[self.depth(part) * columns..self.depth(part + 1) * columns])
    }

    /// Multiplies the rows whose turn it is, and returns their sums. Evenly, while it computes, it asks for what is read next: of
    /// the left-hand side for one panel's share at a time, and of the panels of the next pass for one block's.
    fn turn<'c>(
        &self,
        kernel: &Armed<'_, F>,
        [now, next]: [&Pass; 2],
        turn: Range<usize>,
        sums: &'c mut [F::C],
    ) -> Result<&'c mut [F::C], RunError> {
        let (blocks, count) = (self.blocks, now.panels.len());
        let (width, start) = (count * blocks.columns(), if self.parts > 1 { turn.start } else { 0 });
        for (at, index) in now.panels.clone().enumerate() {
            let panel = self.panel(index, now.part)?;
            for (row, of_block) in blocks.blocks(turn.clone()) {
                let (rows, block) = (blocks.tile_rows(of_block), self.block(row, now.part));
                let groups = blocks.groups(panel.len() / blocks.columns());
                let left = Ahead::evenly(self.left_ahead([now, next], turn.start, row, at), groups);
                let right = match self.right_ahead(next, row, at)? {
                    Some(coming) => Ahead::evenly(coming, groups),
                    None => Ahead::behind(panel, LEAD, groups),
                };
                let coming = Ahead::evenly(share(self.sums_ahead(turn.end, width, sums), at, count), groups);
                let c = &mut sums[(start + row - turn.start) * width + at * blocks.columns()..];
                let (accumulate, ahead) = (now.part > 0, [left, right, coming]);
                blocks.call(kernel, Call { rows, block, panel, c, stride: width, accumulate, ahead });
            }
        }
        Ok(&mut sums[start * width..])
    }

    /// What to ask for of the left-hand side while panel `at` of a pass is multiplied with the block at `row`: the share of this
    /// block that the next panel is multiplied with first, or that of the block which comes next.
    fn left_ahead(&self, [now, next]: [&Pass; 2], turn: usize, row: usize, at: usize) -> &'a [F::A] {
        let (block, after) = (self.block(row, now.part), row + self.blocks.turn());
        match now.panels.len() {
            count if at + 1 < count => share(block, at + 1, count),
            count if after < self.rows => share(self.block(after, now.part), 0, count),
            _ if next.panels.is_empty() => &block[..0],
            _ => share(self.block(row - turn, next.part), 0, next.panels.len()),
        }
    }

    /// What to ask for of panel `at` of the next pass; `None` where all rows have their turn at once, so that panels do not stay.
    fn right_ahead(&self, next: &Pass, row: usize, at: usize) -> Result<Option<&'a [F::B]>, RunError> {
        let grain = self.blocks.grain();
        if self.rows <= self.blocks.turn() {
            return Ok(None);
        }
        let panel = next.panels.clone().nth(at).map(|index| self.panel(index, next.part)).transpose()?;
        Ok(Some(panel.map_or(&[], |panel| share(panel, row / grain, self.rows.div_ceil(grain)))))
    }

    /// The sums of the rows whose turn is next, where sums are kept from part to part.
    fn sums_ahead<'c>(&self, end: usize, width: usize, sums: &'c [F::C]) -> &'c [F::C] {
        let first = if end < self.rows { end } else { 0 };
        let last = if self.parts > 1 { (first + self.blocks.turn()).min(self.rows) } else { first };
        &sums[..self.blocks.tile_rows(last) * width][first * width..]
    }
}
