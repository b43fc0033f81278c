use std::ops::Range;

use super::{Compute, float, integer};
use crate::driver::RunError;
use crate::mem::Scratch;
use crate::ops::ranks;
use crate::pack::{Int8Rows, NBITS_PANEL, NBitsShape, NBitsWeights};
use crate::rt::Worker;

/// Columns of a tile: four panels.
pub(crate) const STRIP: usize = 4 * NBITS_PANEL;
/// Panels of a tile.
pub(crate) const STRIP_PANELS: usize = STRIP / NBITS_PANEL;
/// Rows of a block in int8, which stays in the first cache beside a panel.
const INT8_ROWS: usize = 32;
/// Rows up to which unpacking a panel again for every few rows beats writing it out in f32 once.
const FEW_ROWS: usize = 12;

/// Whether `m` rows are so many that panels are better written out in f32.
pub(super) fn unpacks(compute: Compute, m: usize) -> bool {
    compute == Compute::F32 && m > FEW_ROWS
}

/// Rows of a block that is multiplied with panels as they are.
pub(super) fn block_rows(compute: Compute, m: usize) -> usize {
    let most = if compute == Compute::Int8 { INT8_ROWS } else { FEW_ROWS };
    most.min(m)
}

/// Rows and panels of this rank. Ranks share the columns, and rows only where unpacking is not paid for each of them.
pub(super) fn share(
    worker: &Worker<'_>,
    compute: Compute,
    m: usize,
    shape: &NBitsShape,
) -> (Range<usize>, Range<usize>) {
    let row_grain = if compute == Compute::Int8 { INT8_ROWS } else { m.max(1) };
    ranks::Matrix { m, row_grain, panels: shape.panels(), panel: NBITS_PANEL.min(shape.n()), k: shape.k() }
        .share(worker)
}

/// `range` in pieces of `len`, the last of what is left.
pub(super) fn chunks(range: Range<usize>, len: usize) -> impl Iterator<Item = Range<usize>> {
    range.clone().step_by(len).map(move |start| start..(start + len).min(range.end))
}

/// Columns of neighbouring panels.
pub(super) fn columns(shape: &NBitsShape, panels: &Range<usize>) -> Range<usize> {
    panels.start * NBITS_PANEL..(panels.end * NBITS_PANEL).min(shape.n())
}

/// Rows of `A` as panels are multiplied with them.
pub(crate) enum Left<'a> {
    /// Filled up to the depth of the weight with zeros.
    F32(&'a [f32]),
    Int8(Int8Rows<'a>),
}

impl<'a> Left<'a> {
    /// Bytes of scratch that [`Left::prepare`] needs.
    pub fn scratch(compute: Compute, shape: &NBitsShape, rows: usize) -> usize {
        match compute {
            Compute::Int8 => Int8Rows::scratch(shape, rows),
            Compute::F32 => Scratch::bytes::<f32>(rows * shape.depth()),
        }
    }

    /// `a` has rows of the weight's `k`.
    pub fn prepare(compute: Compute, shape: &NBitsShape, a: &[f32], scratch: &'a mut [u8]) -> Self {
        let mut scratch = Scratch::new(scratch);
        if compute == Compute::Int8 {
            return Self::Int8(Int8Rows::quantize(shape, a, &mut scratch));
        }
        let (k, depth) = (shape.k(), shape.depth());
        let rows: &mut [f32] = scratch.take(a.len() / k * depth);
        for (row, a) in rows.chunks_mut(depth).zip(a.chunks(k)) {
            row[..k].copy_from_slice(a);
            row[k..].fill(0.0);
        }
        Self::F32(rows)
    }

    /// `tile = rows x panels`; `tile` has rows of [`STRIP`] numbers, of which those of the panels come first.
    pub fn multiply(&self, weights: &NBitsWeights, panels: Range<usize>, tile: &mut [f32]) -> Result<(), RunError> {
        for (index, panel) in panels.enumerate() {
            let (panel, tile) = (weights.panel(panel)?, &mut tile[index * NBITS_PANEL..]);
            match self {
                Self::F32(rows) => float::multiply(panel, rows, tile, STRIP),
                Self::Int8(rows) => integer::multiply(panel, rows, tile, STRIP),
            }
        }
        Ok(())
    }
}
