use std::ops::Range;

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
    parts: usize,
    /// Groups of the whole depth.
    groups: usize,
}

/// A part of a panel's depth, which all rows are multiplied with.
struct Pass<'a, F: MatMulFamily> {
    /// The groups of the part.
    groups: Range<usize>,
    panel: &'a [F::B],
    /// The part after it, which is asked for meanwhile.
    next: &'a [F::B],
}

impl<'a, F: MatMulFamily> Walk<'a, F> {
    pub fn new(
        blocks: Blocks<F>,
        worker: &Worker<'a>,
        (left, rows): (&'a [F::A], usize),
        weights: &'a PackedWeights,
    ) -> Self {
        let k = weights.k();
        let (kernel, parts, groups) = (select::arm(blocks.variant, worker), blocks.parts(rows, k), blocks.groups(k));
        Self { blocks, kernel, left, rows, weights, parts, groups }
    }

    /// Multiplies all rows with a panel, before that of index `next`: their sums are in rows of `width` numbers.
    ///
    /// # Errors
    /// Weights of another layout.
    pub fn run(&self, (panel, next): (usize, Option<usize>), sums: &mut [F::C], width: usize) -> Result<(), RunError> {
        for part in 0..self.parts {
            let next = if part + 1 < self.parts { Some((panel, part + 1)) } else { next.map(|next| (next, 0)) };
            let pass = Pass {
                panel: self.panel(panel, part)?,
                next: next.map_or(Ok(&[][..]), |(panel, part)| self.panel(panel, part))?,
                groups: self.part(part),
            };
            self.pass(&pass, sums, width);
        }
        Ok(())
    }

    /// The groups of a part.
    fn part(&self, part: usize) -> Range<usize> {
        self.groups * part / self.parts..self.groups * (part + 1) / self.parts
    }

    fn panel(&self, index: usize, part: usize) -> Result<&'a [F::B], RunError> {
        let (groups, step) = (self.part(part), self.blocks.columns() * self.blocks.spec().tile.k);
        let panel: &[F::B] = self.weights.panel(self.blocks.layout(), index)?;
        Ok(&panel[groups.start * step..groups.end * step])
    }

    /// Multiplies all rows: their sums are in rows of `width` numbers.
    #[inline(never)]
    fn pass(&self, pass: &Pass<'a, F>, sums: &mut [F::C], width: usize) {
        let (grain, tile_k, groups) = (self.blocks.grain(), self.blocks.spec().tile.k, pass.groups.len());
        let (is_alone, accumulate) = (self.rows <= grain, pass.groups.start > 0);
        let mut later = if is_alone { &[] } else { pass.next };
        let share = later.len().div_ceil(self.rows.div_ceil(grain).max(1));
        let mut left = self.left;
        for (row, c) in (0..self.rows).step_by(grain).zip(sums.chunks_mut(grain * width)) {
            let rows = self.blocks.tile_rows(grain.min(self.rows - row));
            let of_rows = rows * tile_k;
            let block;
            (block, left) = left.split_at(self.groups * of_rows);
            let ahead = if is_alone {
                let step = self.blocks.columns() * tile_k * size_of::<F::B>();
                Ahead { from: pass.panel.as_ptr().wrapping_byte_add(LEAD).cast(), step }
            } else {
                let asked;
                (asked, later) = later.split_at(share.min(later.len()));
                prefetch(asked);
                // The same part of the next rows.
                let from = left.as_ptr().wrapping_add(pass.groups.start * of_rows).cast();
                Ahead { from, step: of_rows * size_of::<F::A>() }
            };
            let block = &block[pass.groups.start * of_rows..pass.groups.end * of_rows];
            let call = Call { rows, groups, block, panel: pass.panel, accumulate, ahead };
            self.blocks.call(&self.kernel, &call, c, width);
        }
    }
}
