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
    /// Bytes of a group of the panel.
    step: usize,
}

/// Packed rows of a block: how many, their numbers in all, the first and the end of those of a pass, and the bytes of a group.
#[derive(Clone, Copy)]
struct Numbers {
    rows: usize,
    all: usize,
    start: usize,
    end: usize,
    step: usize,
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
                step: self.step() * size_of::<F::B>(),
            };
            self.pass(&pass, sums, width);
        }
        Ok(())
    }

    /// The groups of a part.
    fn part(&self, part: usize) -> Range<usize> {
        self.groups * part / self.parts..self.groups * (part + 1) / self.parts
    }

    /// Numbers of a group of a panel.
    fn step(&self) -> usize {
        self.blocks.columns() * self.blocks.spec().tile.k
    }

    fn panel(&self, index: usize, part: usize) -> Result<&'a [F::B], RunError> {
        let (groups, step) = (self.part(part), self.step());
        let panel: &[F::B] = self.weights.panel(self.blocks.layout(), index)?;
        Ok(&panel[groups.start * step..groups.end * step])
    }

    /// Multiplies all rows: their sums are in rows of `width` numbers.
    #[inline(never)]
    fn pass(&self, pass: &Pass<'a, F>, sums: &mut [F::C], width: usize) {
        let (grain, is_alone) = (self.blocks.grain(), self.rows <= self.blocks.grain());
        let whole = self.numbers(pass, grain);
        let (mut left, mut later) = (self.left, if is_alone { &[] } else { pass.next });
        let share = later.len().div_ceil(self.rows.div_ceil(grain).max(1));
        for (row, c) in (0..self.rows).step_by(grain).zip(sums.chunks_mut(grain * width)) {
            let rest = self.rows - row;
            let numbers = if rest >= grain { whole } else { self.numbers(pass, self.blocks.tile_rows(rest)) };
            let (block, asked);
            (block, left) = left.split_at(numbers.all);
            (asked, later) = later.split_at(share.min(later.len()));
            prefetch(asked);
            let ahead = match is_alone {
                true => Ahead { from: pass.panel.as_ptr().wrapping_byte_add(LEAD).cast(), step: pass.step },
                // The same part of the next rows.
                false => Ahead { from: left.as_ptr().wrapping_add(numbers.start).cast(), step: numbers.step },
            };
            let block = &block[numbers.start..numbers.end];
            let call = Call {
                rows: numbers.rows,
                groups: pass.groups.len(),
                block,
                panel: pass.panel,
                accumulate: pass.groups.start > 0,
                ahead,
            };
            self.blocks.call(&self.kernel, &call, c, width);
        }
    }

    fn numbers(&self, pass: &Pass<'a, F>, rows: usize) -> Numbers {
        let of_group = rows * self.blocks.spec().tile.k;
        Numbers {
            rows,
            all: self.groups * of_group,
            start: pass.groups.start * of_group,
            end: pass.groups.end * of_group,
            step: of_group * size_of::<F::A>(),
        }
    }
}
