//! Panels whose kernel finishes the sums itself, so that they are neither stored nor loaded again.

use std::ops::Range;

use super::Blocks;
use crate::driver::RunError;
use crate::pack::PackedWeights;
use crate::rt::Worker;
use crate::select;
use crate::table::{MatMulFamily, ProductFamily};
use crate::tape::SharedOut;
use crate::ukr::{Ahead, FinishArgs, PANEL, prefetch};
use crate::vector::pointer;

/// Bytes that a panel is asked for ahead: as many lines as must be on their way for the rate of DRAM.
const LEAD: usize = 3072;

/// Bytes of a panel that the first cache, of 32 KiB, has together with the next one, which is asked for meanwhile.
const STAYS: usize = 16 << 10;

/// Rows of the left-hand side, packed, and those of the output that they are multiplied for.
pub(crate) struct LeftRows<'a, T> {
    pub packed: &'a [T],
    pub rows: Range<usize>,
    /// One number for each row, or none where all are 0.
    pub factors: &'a [i32],
}

impl<F: MatMulFamily> Blocks<F> {
    /// The results of `panels`, whose columns are all there, by the kernel of `G`; `false` where there is none for the layout. `columns`
    /// tells what belongs to the columns from the first one of a panel on; `y` has rows of `n` numbers.
    ///
    /// # Errors
    /// Weights of another layout.
    ///
    /// # Safety
    /// No other rank touches these rows and columns of `y`, and the caller holds no slice of them. What `columns` tells is what `G`
    /// wants.
    ///
    /// # Panics
    /// When an operand is too short.
    pub unsafe fn finish_panels<G, P>(
        self,
        worker: &Worker<'_>,
        LeftRows { packed, rows, factors }: LeftRows<'_, F::A>,
        (weights, panels): (&PackedWeights, Range<usize>),
        columns: impl Fn(usize) -> P,
        (y, n): (SharedOut<'_, f32>, usize),
    ) -> Result<bool, RunError>
    where
        G: ProductFamily<Args = FinishArgs<F::A, F::B, P>>,
    {
        let is_same = |row: &&_| self.is_like(row);
        let Some(kernel) = G::VARIANTS.iter().find(is_same).map(|variant| select::arm(variant, worker)) else {
            return Ok(false);
        };
        if rows.is_empty() {
            return Ok(true);
        }
        assert!(factors.is_empty() || factors.len() == rows.len(), "factors of rows");
        let (k_groups, step) = (self.groups(weights.k()), PANEL * self.spec().tile.k);
        let depth = k_groups * self.spec().tile.k;
        let panel = |index| weights.panel::<F::B>(self.layout(), index);
        let is_asked_for = rows.len() > self.grain() && depth * PANEL * size_of::<F::B>() <= STAYS;
        let share = if is_asked_for { (depth * PANEL).div_ceil(rows.len() / self.grain()) } else { 0 };
        for index in panels.clone() {
            let (now, mut next) = (panel(index)?, panel((index + 1).min(panels.end - 1))?);
            assert_eq!(now.len(), depth * PANEL, "length of a panel");
            let start = index * PANEL;
            let (columns, mut left) = (columns(start), packed);
            let first_row = y.pointer(rows.start * n + start..(rows.end - 1) * n + start + PANEL);
            for (first, count) in self.blocks(0..rows.len()) {
                let (ahead, block);
                (ahead, next) = next.split_at(share.min(next.len()));
                prefetch(ahead);
                let tile_rows = if count == self.grain() { count } else { self.tile_rows(count) };
                (block, left) = left.split_at(tile_rows * depth);
                let args = FinishArgs {
                    a: block.as_ptr(),
                    b: now.as_ptr(),
                    k_groups,
                    columns: &columns,
                    row_factors: pointer(factors.get(first..).unwrap_or_default()),
                    y: first_row.wrapping_add(first * n),
                    y_stride: n * size_of::<f32>(),
                    rows: count,
                    ahead: Ahead { from: now.as_ptr().wrapping_byte_add(LEAD).cast(), step: step * size_of::<F::B>() },
                };
                // SAFETY: the block, the panel and the rows of `y` are as long as the arguments say, and `y` is the caller's, who
                // answers for the columns.
                unsafe { kernel.call(&args) };
            }
        }
        Ok(true)
    }
}
