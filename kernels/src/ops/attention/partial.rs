use std::ops::Range;

use super::online::finite_base;
use super::tile::Tile;
use super::{Attention, STREAM_KEYS};
use crate::tape::SharedOut;

/// What the ranks that share a tile found: for each tile and part the maxima, the sums and the weighted values of the rows.
pub(super) struct Partials<'a> {
    pub attention: &'a Attention,
    pub all: SharedOut<'a, f32>,
}

impl Partials<'_> {
    /// The keys of one part, in whole blocks.
    pub fn keys(&self, keys: Range<usize>, part: usize) -> Range<usize> {
        let blocks = keys.len().div_ceil(STREAM_KEYS);
        let cut = |part: usize| (keys.start + blocks * part / self.attention.parts * STREAM_KEYS).min(keys.end);
        cut(part)..cut(part + 1)
    }

    fn range(&self, index: usize) -> Range<usize> {
        let len = self.attention.tile_rows() * (2 + self.attention.dims.value_head);
        index * len..(index + 1) * len
    }

    /// Keeps the state of a tile as part `index`.
    pub fn store(&self, index: usize, tile: &Tile<'_>, rows: usize) {
        // SAFETY: parts are disjoint, and each belongs to one rank.
        let part = unsafe { self.all.range(self.range(index)) };
        let (max, rest) = part.split_at_mut(rows);
        let (sum, acc) = rest.split_at_mut(rows);
        let width = self.attention.dims.value_head;
        max.copy_from_slice(&tile.max[..rows]);
        sum.copy_from_slice(&tile.sum[..rows]);
        acc[..rows * width].copy_from_slice(&tile.acc[..rows * width]);
    }

    /// Restores the state of tile `unit` from its parts.
    pub fn merge(&self, unit: usize, tile: &mut Tile<'_>, rows: usize) {
        let (parts, width) = (self.attention.parts, self.attention.dims.value_head);
        tile.max[..rows].fill(f32::NEG_INFINITY);
        tile.sum[..rows].fill(0.0);
        tile.acc[..rows * width].fill(0.0);
        for index in unit * parts..(unit + 1) * parts {
            // SAFETY: all parts were stored before the last barrier, and each unit is merged by one rank.
            let part = unsafe { self.all.range(self.range(index)) };
            for row in 0..rows {
                let (part_max, part_sum) = (part[row], part[rows + row]);
                let max = tile.max[row].max(part_max);
                let base = finite_base(max);
                let (old, new) = ((tile.max[row] - base).exp(), (part_max - base).exp());
                tile.max[row] = max;
                tile.sum[row] = tile.sum[row] * old + part_sum * new;
                let acc = &mut tile.acc[row * width..][..width];
                let values = &part[2 * rows + row * width..][..width];
                acc.iter_mut().zip(values).for_each(|(acc, x)| *acc = *acc * old + x * new);
            }
        }
    }
}
