//! Scaled dot-product attention that never holds the whole score matrix.
//!
//! `out[b, h, s] = softmax_t(scale * q[b, h, s] . k[b, h', t] + bias[b, h, s, t]) . v[b, h', t]` where query head `h`
//! reads key and value head `h' = h / (heads / kv_heads)`. The keys are visited in blocks; a running maximum and sum
//! for each query row make the result independent of the blocking (Milakov and Gimelshein, arXiv 1805.02867). Where there
//! are fewer tiles than ranks, several ranks share a tile's keys, and one merges what they found.

mod cache;
mod chip;
mod config;
mod floats;
mod halves;
mod layout;
mod mask;
mod online;
mod operand;
mod partial;
mod scores;
mod sizes;
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
use crate::ukr::matmul_f16_f16_f32::MatMulF16F16F32;
use crate::ukr::matmul_f32_f32_f32::MatMulF32F32F32;

pub use cache::CacheFormat;
pub(crate) use cache::head_scales;
pub use layout::{AttentionDims, Order, Strided};
pub use mask::{BoundsToBias, KeepToBias};
use online::Finish;
use partial::Partials;
pub use scores::{ScoreStage, Scores};
use sizes::STREAM_KEYS;
#[cfg(test)]
use sizes::{TILE_KEYS, TILE_ROWS};
pub use spans::{Span, Spans};
use tile::{Tile, Unit};

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
    /// Bytes of scratch for which a chip's scratchpad, or the second cache, has room.
    room: usize,
    /// Most panels of queries of a tile on a chip: so many that ranks have enough tiles.
    panels: usize,
    /// Ranks that share the keys of a tile.
    parts: usize,
    operands: usize,
    /// What multiplies where it is not the host's engine.
    blocks: Option<Blocks<MatMulF32F32F32>>,
    /// What multiplies rows of f16 by a matrix unit.
    matrix: Option<Blocks<MatMulF16F16F32>>,
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
