use std::ops::Range;

use smallvec::SmallVec;

use super::Blocks;
use super::multiply::Call;
use crate::driver::RunError;
use crate::pack::PackedWeights;
use crate::rt::Worker;
use crate::select;
use crate::table::{Armed, MatMulFamily};
use crate::ukr::{Ahead, prefetch};

/// Bytes that a panel is asked for ahead where it is read only once.
const LEAD: usize = 512;

/// Packed rows that are multiplied with panels of a weight, a part of the depth after the other.
pub(super) struct Walk<'a, F: MatMulFamily> {
    blocks: Blocks<F>,
    kernel: Armed<'a, F>,
    left: &'a [F::A],
    rows: usize,
    weights: &'a PackedWeights,
    pub parts: usize,
}

/// Some panels with a part of the depth, which all rows are multiplied with.
pub(super) struct Pass<'a, F: MatMulFamily> {
    part: usize,
    /// Groups of the depth before the part, in it, and in all.
    groups: [usize; 3],
    panels: SmallVec<[&'a [F::B]; 4]>,
    /// What the next pass asks for with each block: numbers of a panel.
    share: usize,
    /// Bytes of the left-hand side that are asked for with each group.
    pace: usize,
}

impl<'a, F: MatMulFamily> Walk<'a, F> {
    pub fn new(
        blocks: Blocks<F>,
        worker: &Worker<'a>,
        (left, rows): (&'a [F::A], usize),
        weights: &'a PackedWeights,
    ) -> Self {
        let (kernel, parts) = (select::arm(blocks.variant, worker), blocks.parts(rows, weights.k()));
        Self { blocks, kernel, left, rows, weights, parts }
    }

    pub fn pass(&self, panels: Range<usize>, part: usize) -> Result<Pass<'a, F>, RunError> {
        let (blocks, all) = (self.blocks, self.blocks.groups(self.weights.k()));
        let [start, end] = [part, part + 1].map(|part| all * part / self.parts);
        let step = blocks.columns() * blocks.spec().tile.k;
        let panel = |index| -> Result<&'a [F::B], RunError> {
            let panel: &[F::B] = self.weights.panel(blocks.layout(), index)?;
            Ok(&panel[start * step..end * step])
        };
        let panels = panels.map(panel).collect::<Result<SmallVec<_>, _>>()?;
        let of_block = blocks.grain() * blocks.spec().tile.k * size_of::<F::A>();
        let pace = if self.are_few() { step * size_of::<F::B>() } else { of_block.div_ceil(panels.len().max(1)) };
        let share = ((end - start) * step).div_ceil(self.rows.div_ceil(blocks.grain()).max(1));
        Ok(Pass { part, groups: [start, end - start, all], panels, share, pace })
    }

    /// Whether all rows have their turn at once, so that panels need not stay.
    fn are_few(&self) -> bool {
        self.rows <= self.blocks.turn()
    }

    /// Rows of the block that begins with `row`, those of its tiles' padding included.
    fn rows_at(&self, row: usize) -> usize {
        let grain = self.blocks.grain();
        if row + grain <= self.rows { grain } else { self.blocks.tile_rows(self.rows - row) }
    }

    /// The pass's part of the block that begins with `row`.
    fn block(&self, pass: &Pass<'a, F>, row: usize) -> &'a [F::A] {
        let ([before, groups, all], rows, k) = (pass.groups, self.rows_at(row), self.blocks.spec().tile.k);
        &self.left[(row * all + before * rows) * k..][..groups * rows * k]
    }

    /// Multiplies all rows; `finish` gets those whose sums are complete after the last part, some at a time.
    pub fn run(
        &self,
        passes @ [pass, _]: [&Pass<'a, F>; 2],
        sums: &mut [F::C],
        mut finish: impl FnMut(Range<usize>, &mut [F::C]),
    ) {
        let (blocks, width) = (self.blocks, pass.panels.len() * self.blocks.columns());
        for first in (0..self.rows).step_by(blocks.rows()) {
            let some = first..(first + blocks.rows()).min(self.rows);
            let tile = &mut sums[if self.parts > 1 { first * width } else { 0 }..];
            for turn in some.clone().step_by(blocks.turn()) {
                self.turn(passes, turn..(turn + blocks.turn()).min(some.end), &mut tile[(turn - first) * width..]);
            }
            if pass.part + 1 == self.parts {
                finish(some, tile);
            }
        }
    }

    /// Multiplies the rows whose turn it is.
    fn turn(&self, passes @ [pass, _]: [&Pass<'a, F>; 2], turn: Range<usize>, tile: &mut [F::C]) {
        let (blocks, width) = (self.blocks, pass.panels.len() * self.blocks.columns());
        for (at, &panel) in pass.panels.iter().enumerate() {
            let mut row = turn.start;
            while row < turn.end {
                let inside = row - turn.start;
                let c = &mut tile[inside * width + at * blocks.columns()..];
                let ahead = match self.are_few() {
                    true => Ahead { from: panel.as_ptr().wrapping_byte_add(LEAD).cast(), step: pass.pace },
                    false => self.ask(passes, [row, inside, at], c),
                };
                let (rows, groups, block) = (self.rows_at(row), pass.groups[1], self.block(pass, row));
                let call = Call { rows, groups, block, panel, accumulate: pass.part > 0, ahead };
                blocks.call(&self.kernel, &call, c, width);
                row += blocks.grain();
            }
        }
    }

    /// Asks for what is read later: a share of the panel of the next pass `at` the same place, the sums of the next rows, whose
    /// place is behind `c`, and, by the kernel, of the left-hand side. Of that it is the rest of the block at `row`, which later
    /// panels find there, or a share of the block of the next turn that is as far `inside`.
    fn ask(&self, [pass, next]: [&Pass<'a, F>; 2], [row, inside, at]: [usize; 3], c: &[F::C]) -> Ahead {
        let (grain, columns, count) = (self.blocks.grain(), self.blocks.columns(), pass.panels.len());
        if let Some(panel) = next.panels.get(at) {
            let share = panel.get(row / grain * next.share..).unwrap_or_default();
            prefetch(&share[..share.len().min(next.share)]);
        }
        if let Some(next) = c.get(grain * count * columns + at * (grain - 1) * columns..).filter(|_| pass.part > 0) {
            prefetch(&next[..next.len().min(grain * columns)]);
        }
        let later = row + self.blocks.turn();
        let (block, share) = match at {
            0 if count > 1 => (self.block(pass, row), count - 1),
            _ if later < self.rows => (self.block(pass, later), at.saturating_sub(1)),
            _ => (self.block(next, inside), at.saturating_sub(1)),
        };
        Ahead { from: block.as_ptr().wrapping_byte_add(share * pass.pace * pass.groups[1]).cast(), step: pass.pace }
    }
}
