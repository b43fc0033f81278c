//! Scaled dot-product attention that never holds the whole score matrix.
//!
//! `out[b, h, s] = softmax_t(scale * q[b, h, s] . k[b, h', t] + bias[b, h, s, t]) . v[b, h', t]` where query head `h`
//! reads key and value head `h' = h / (heads / kv_heads)`. The keys are visited in blocks; a running maximum and sum
//! for each query row make the result independent of the blocking (Milakov and Gimelshein, arXiv 1805.02867). Where there
//! are fewer tiles than ranks, several ranks share a tile's keys, and one merges what they found.

mod cache;
mod chip;
mod config;
mod layout;
mod mask;
mod online;
mod operand;
mod partial;
mod scores;
mod spans;
mod stream;
mod tile;

use std::ops::Range;

use smallvec::SmallVec;

use crate::driver::{Driver, RunError};
use crate::ops::blocks::Blocks;
use crate::rt::Worker;
use crate::tape::Io;
use crate::tensor::elements;
use crate::ukr::matmul_f32_f32_f32::MatMulF32F32F32;

pub use cache::CacheFormat;
pub(crate) use cache::head_scales;
pub use layout::{AttentionDims, Order, Strided};
pub use mask::{BoundsToBias, KeepToBias};
use online::Finish;
use partial::Partials;
pub use scores::{ScoreStage, Scores};
pub use spans::{Span, Spans};
use tile::{Tile, Unit};

/// Most query rows of one tile: enough to pay for packing a block of keys.
const TILE_ROWS: usize = 256;
/// Most keys of one block: a tile of scores stays in the second-level cache.
const TILE_KEYS: usize = 256;
/// Most query rows of a tile whose keys and values are read in place.
const STREAM_ROWS: usize = 8;
/// Most keys of one block that is read in place: it stays in the first-level cache for all rows.
const STREAM_KEYS: usize = 64;
/// The same for the vectors of a chip, which read each key once for all rows: as many scores as pay for the beginning of a softmax.
const CHIP_STREAM_KEYS: usize = 512;
/// Most query rows of a tile that meets keys and values in f16: enough to pay for rounding them.
const HALVES_ROWS: usize = 64;
/// Columns of which rows of f16 have a multiple for a matrix unit.
const HALVES_COLUMNS: usize = 64;
/// Keys that are worth another rank.
const PART_KEYS: usize = 128;

/// What a query row yields when its softmax is undefined: every score is -inf (the row is hidden), or one is NaN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UndefinedRow {
    /// NaN, as a plain softmax followed by a product.
    #[default]
    Nan,
    /// Zero where the row is hidden, else NaN.
    ZeroIfHidden,
    /// Zero.
    Zero,
}

/// `softmax(scale * q.k^T + biases) . v`, all f32 but for keys and values in a cache of another format.
///
/// Inputs: q, k, v, then the operands that the builder methods add, in the order of the calls. Output:
/// `[batch, queries, heads, value_head]` or `[batch, heads, queries, value_head]`, then, when [`Attention::partials`] is
/// not zero, f32 storage of that many elements.
#[derive(Clone, Debug)]
pub struct Attention {
    dims: AttentionDims,
    q: Strided,
    k: Source,
    v: Source,
    out: Strided,
    scale: f32,
    /// Operand and place of each.
    biases: SmallVec<[(usize, Strided); 2]>,
    spans: Spans,
    /// First operand of the spans.
    spans_at: usize,
    causal: bool,
    window: usize,
    softcap: f32,
    sink: Sink,
    undefined_row: UndefinedRow,
    /// Whether operands and weights may be rounded to f16.
    rounds: bool,
    has_matrix_of_halves: bool,
    /// Ranks that share the keys of a tile.
    parts: usize,
    operands: usize,
    /// What multiplies where it is not the host's engine.
    blocks: Option<Blocks<MatMulF32F32F32>>,
}

/// Where keys or values are.
#[derive(Clone, Debug)]
struct Source {
    at: Strided,
    format: CacheFormat,
    /// Operand of the scales.
    scales: Option<usize>,
    /// Query heads of a head.
    group: usize,
}

impl Source {
    fn is_staged(&self) -> bool {
        self.format != CacheFormat::F32
    }
}

/// A score beside those of the keys.
#[derive(Clone, Copy, Debug)]
enum Sink {
    None,
    Zero,
    /// One for each head, in this operand.
    Operand(usize),
}

impl Attention {
    /// Query heads of a tile: all that share keys, when the tile remains small.
    fn tile_heads(&self) -> usize {
        let group = self.k.group;
        if self.dims.queries.saturating_mul(group) <= STREAM_ROWS { group } else { 1 }
    }

    /// Most queries of a tile. On a chip a tile of scores stays in the first-level cache, or nearly so where long registers want
    /// long rows, and the second one is fast.
    fn tile_queries(&self) -> usize {
        match self.blocks {
            None => TILE_ROWS,
            Some(_) if self.multiplies_halves() => HALVES_ROWS,
            Some(blocks) => blocks.rows() * (self.block_keys() / STREAM_KEYS),
        }
    }

    fn tile_rows(&self) -> usize {
        self.tile_heads() * self.dims.queries.min(self.tile_queries())
    }

    fn has_few_rows(&self) -> bool {
        self.tile_heads() * self.dims.queries <= STREAM_ROWS
    }

    /// Whether keys and values become f16 for a matrix unit that multiplies their rows in place, for more than a few query rows.
    fn multiplies_halves(&self) -> bool {
        let of = |source: &Source, width: usize| {
            source.at.col == 1 && !source.format.is_scaled() && width > 0 && width.is_multiple_of(HALVES_COLUMNS)
        };
        let fits = of(&self.k, self.dims.head) && of(&self.v, self.dims.value_head);
        self.rounds && self.has_matrix_of_halves && fits && !self.has_few_rows()
    }

    /// Whether rows of keys and values, whose elements are neighbours, are read in place.
    fn streams(&self) -> bool {
        let in_place = self.has_few_rows() && self.k.at.col == 1 && self.v.at.col == 1;
        in_place || self.multiplies_halves()
    }

    /// What multiplies blocks of keys and values that are not read in place, where it is not the host's engine.
    fn packed_blocks(&self) -> Option<Blocks<MatMulF32F32F32>> {
        self.blocks.filter(|_| !self.streams())
    }

    fn block_keys(&self) -> usize {
        match self.blocks {
            Some(_) if self.multiplies_halves() => TILE_KEYS,
            Some(_) if self.streams() => CHIP_STREAM_KEYS,
            // Rows of scores are no shorter than four registers.
            Some(blocks) => STREAM_KEYS.max(blocks.panels() * blocks.columns()),
            None if self.streams() => STREAM_KEYS,
            None => TILE_KEYS,
        }
    }

    /// Keys of the longest block.
    fn most_keys(&self) -> usize {
        self.dims.keys.min(self.block_keys())
    }

    /// Elements from one row of a tile of scores to the next, for blocks of `keys` keys.
    fn pitch(&self, keys: usize) -> usize {
        self.blocks.map_or(keys, |blocks| keys.next_multiple_of(blocks.columns()))
    }

    /// Tiles of one sequence: of heads, of queries.
    fn tiles(&self) -> [usize; 2] {
        [self.dims.heads / self.tile_heads(), self.dims.queries.div_ceil(self.tile_queries())]
    }

    fn units(&self) -> usize {
        let [heads, queries] = self.tiles();
        elements(&[self.dims.batch, heads, queries])
    }

    /// The keys that `query` of a sequence sees.
    fn visible(&self, span: Span, query: usize) -> Range<usize> {
        let end = span.first.saturating_add_unsigned(query + 1);
        let start = end.saturating_sub_unsigned(self.window).max(0) as usize;
        let end = if self.causal { (end.max(0) as usize).min(span.keys) } else { span.keys };
        start.min(end)..end
    }

    fn unit(&self, io: &Io<'_>, index: usize) -> Result<Unit, RunError> {
        let [head_tiles, query_tiles] = self.tiles();
        let (heads, first) = (self.tile_heads(), index % query_tiles * self.tile_queries());
        let (batch, head) = (index / query_tiles / head_tiles, index / query_tiles % head_tiles * heads);
        let queries = self.tile_queries().min(self.dims.queries - first);
        let span = self.spans.of(io, self.spans_at, batch)?;
        let keys = self.visible(span, first).start..self.visible(span, first + queries - 1).end;
        Ok(Unit { batch, head, heads, first, queries, span, keys })
    }

    /// Divides by the sums and stores.
    fn finish(&self, worker: &Worker<'_>, io: &Io<'_>, unit: &Unit, tile: &Tile<'_>) {
        let width = self.dims.value_head;
        for row in 0..unit.rows() {
            let (head, query) = unit.row(row);
            let at = self.out.at(unit.batch, head, query);
            // SAFETY: `out` is a dense order of distinct rows, and each tile belongs to one rank.
            let out = unsafe { io.output(0).range(at..at + width) };
            let sink = match self.sink {
                Sink::None => None,
                Sink::Zero => Some(0.0),
                Sink::Operand(index) => Some(io.input::<f32>(index)[head]),
            };
            let (acc, max, sum) = (&tile.acc[row * width..][..width], tile.max[row], tile.sum[row]);
            Finish { out, acc, max, sum, sink, undefined: self.undefined_row }.run(worker);
        }
    }
}

impl Driver for Attention {
    fn scratch(&self) -> usize {
        Tile::scratch(self)
    }

    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, scratch: &mut [u8]) -> Result<(), RunError> {
        let mut tile = Tile::new(self, worker, io, scratch);
        if self.parts == 1 {
            for index in worker.share(self.units(), 1) {
                let unit = self.unit(io, index)?;
                tile.run(&unit)?;
                self.finish(worker, io, &unit, &tile);
            }
            return Ok(());
        }
        let partials = Partials { attention: self, all: io.output(1) };
        for index in worker.share(self.units() * self.parts, 1) {
            let mut unit = self.unit(io, index / self.parts)?;
            unit.keys = partials.keys(unit.keys, index % self.parts);
            tile.run(&unit)?;
            partials.store(index, &tile, unit.rows());
        }
        worker.barrier()?;
        for index in worker.share(self.units(), 1) {
            let unit = self.unit(io, index)?;
            partials.merge(index, &mut tile, unit.rows());
            self.finish(worker, io, &unit, &tile);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
