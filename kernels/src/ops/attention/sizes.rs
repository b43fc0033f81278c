//! Rows and keys that are worked on at a time, and by which way.

use super::{Attention, Source};
use crate::ops::blocks::Blocks;
use crate::ukr::matmul_f16_f16_f32::MatMulF16F16F32;
use crate::ukr::matmul_f32_f32_f32::MatMulF32F32F32;
use crate::vector::{COLUMNS, STEP};

/// Most query rows of one tile: enough to pay for packing a block of keys.
pub(super) const TILE_ROWS: usize = 256;
/// Most keys of one block: a tile of scores stays in the second-level cache.
pub(super) const TILE_KEYS: usize = 256;
/// Most query rows of a tile whose keys and values are read in place.
pub(super) const STREAM_ROWS: usize = 8;
/// Most keys of one block that is read in place: it stays in the first-level cache for all rows.
pub(super) const STREAM_KEYS: usize = 64;
/// The same for the vectors of a chip, which read each key once for all rows: as many scores as pay for the beginning of a softmax.
pub(super) const CHIP_STREAM_KEYS: usize = 512;
/// Most panels of queries of a tile on a chip, and keys of a block: enough to pay for packing and for the beginning of a softmax.
pub(super) const CHIP_PANELS: usize = 8;
const CHIP_KEYS: usize = 256;
/// Columns of which rows of f16 have a multiple for a matrix unit.
pub(super) const HALVES_COLUMNS: usize = 64;

impl Attention {
    /// Query heads of a tile: all that share keys, when the tile remains small; a panel of a chip has rows of one head.
    pub(super) fn tile_heads(&self) -> usize {
        let group = self.k.group;
        let are_few = self.dims.queries.saturating_mul(group) <= STREAM_ROWS;
        if are_few && (self.blocks.is_none() || self.lies_in_rows()) { group } else { 1 }
    }

    /// Most queries of a tile.
    pub(super) fn tile_queries(&self) -> usize {
        match self.packed_blocks() {
            Some(blocks) => self.panels_and_keys(blocks)[0] * COLUMNS,
            None => TILE_ROWS,
        }
    }

    /// Panels of queries and keys of a block for which a chip's scratchpad has room.
    fn panels_and_keys(&self, blocks: Blocks<MatMulF32F32F32>) -> [usize; 2] {
        let (d, room) = (&self.dims, self.room / size_of::<f32>());
        let of_panel = COLUMNS * (d.head + d.value_head);
        let panels = (room / 2 / of_panel.max(1)).clamp(1, CHIP_PANELS);
        let terms = if self.biases.is_empty() { 0 } else { COLUMNS };
        let of_key = COLUMNS + terms + d.head + d.head.max(d.value_head);
        let keys = room.saturating_sub(panels * of_panel + COLUMNS * d.value_head) / of_key;
        // Blocks of rows as they are multiplied, and of those that are exponentiated together.
        let step = blocks.grain().next_multiple_of(STEP) * if blocks.grain().is_multiple_of(STEP) { 1 } else { STEP };
        [panels.min(self.panels), (keys - keys % step).clamp(step, CHIP_KEYS)]
    }

    /// [`Attention::tile_rows`] in whole panels.
    pub(super) fn padded_rows(&self) -> usize {
        self.tile_rows().next_multiple_of(COLUMNS)
    }

    /// Most query rows of a tile.
    pub(super) fn tile_rows(&self) -> usize {
        self.tile_heads() * self.dims.queries.min(self.tile_queries())
    }

    pub(super) fn has_few_rows(&self) -> bool {
        self.tile_heads() * self.dims.queries <= STREAM_ROWS
    }

    /// What multiplies more than a few query rows with keys and values in f16, where they may be rounded.
    pub(super) fn halves(&self) -> Option<Blocks<MatMulF16F16F32>> {
        let of = |source: &Source, width: usize| {
            source.at.col == 1 && !source.format.is_scaled() && width > 0 && width.is_multiple_of(HALVES_COLUMNS)
        };
        let fits = of(&self.k, self.dims.head) && of(&self.v, self.dims.value_head);
        self.matrix.filter(|_| self.rounds && fits && !self.has_few_rows())
    }

    /// Whether elements of a key or a value are neighbours.
    fn lies_in_rows(&self) -> bool {
        self.k.at.col == 1 && self.v.at.col == 1
    }

    /// Whether rows of keys and values, whose elements are neighbours, are read in place.
    pub(super) fn streams(&self) -> bool {
        self.has_few_rows() && self.lies_in_rows()
    }

    /// What multiplies blocks of keys and values that are not read in place, where it is not the host's engine.
    pub(super) fn packed_blocks(&self) -> Option<Blocks<MatMulF32F32F32>> {
        self.blocks.filter(|_| !self.streams())
    }

    pub(super) fn block_keys(&self) -> usize {
        match self.blocks {
            Some(_) if self.streams() => CHIP_STREAM_KEYS,
            Some(blocks) => self.panels_and_keys(blocks)[1],
            None if self.streams() => STREAM_KEYS,
            None => TILE_KEYS,
        }
    }

    /// Keys of the longest block.
    pub(super) fn most_keys(&self) -> usize {
        self.dims.keys.min(self.block_keys())
    }

    /// Elements from one row of a tile of scores to the next, for blocks of `keys` keys.
    pub(super) fn pitch(&self, keys: usize) -> usize {
        self.blocks.map_or(keys, |blocks| keys.next_multiple_of(blocks.columns()))
    }
}
