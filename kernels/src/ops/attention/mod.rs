//! Scaled dot-product attention that never holds the whole score matrix.
//!
//! `out[b, h, s] = softmax_t(scale * q[b, h, s] . k[b, h', t] + bias[b, h, s, t]) . v[b, h', t]` where query head `h`
//! reads key and value head `h' = h / (heads / kv_heads)`. The keys are visited in blocks; a running maximum and sum
//! for each query row make the result independent of the blocking (Milakov and Gimelshein, arXiv 1805.02867).

mod layout;
mod mask;
mod online;

use std::fmt;

use rten_simd::SimdOp;
use rten_tensor::{Matrix, MatrixLayout};
use smallvec::SmallVec;

use crate::driver::{Driver, RunError};
use crate::host::{gemm_f32, matrix};
use crate::rt::Worker;
use crate::tape::{Io, SharedOut};

pub use layout::{AttentionDims, Order, Strided};
pub use mask::{BoundsToBias, KeepToBias};
use online::{Finish, Fold};

/// Most query rows of one tile: enough to pay for packing a block of keys.
const TILE_ROWS: usize = 256;
/// Most keys of one block: a tile of scores stays in the second-level cache.
const TILE_KEYS: usize = 256;

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

/// `softmax(scale * q.k^T + biases) . v`, all f32.
///
/// Inputs: q, k, v, then one input for each bias. Output: `[batch, queries, heads, value_head]` or
/// `[batch, heads, queries, value_head]`.
#[derive(Clone, Debug)]
pub struct Attention {
    dims: AttentionDims,
    q: Strided,
    k: Strided,
    v: Strided,
    out: Strided,
    scale: f32,
    biases: SmallVec<[Strided; 2]>,
    causal: Option<isize>,
    softcap: f32,
    undefined_row: UndefinedRow,
}

impl Attention {
    /// `q` locates `[batch, heads, queries, head]`, `k` `[batch, kv_heads, keys, head]` and `v`
    /// `[batch, kv_heads, keys, value_head]` in their inputs; they may be parts of one packed buffer.
    ///
    /// # Panics
    /// When `kv_heads` does not divide `heads`.
    pub fn new(dims: AttentionDims, q: Strided, k: Strided, v: Strided, out: Order, scale: f32) -> Self {
        assert!(dims.kv_heads > 0 && dims.heads.is_multiple_of(dims.kv_heads), "kv_heads must divide heads");
        Self {
            dims,
            q,
            k,
            v,
            out: out.strided(dims.heads, dims.queries, dims.value_head),
            scale,
            biases: SmallVec::new(),
            causal: None,
            softcap: 0.0,
            undefined_row: UndefinedRow::Nan,
        }
    }

    /// Adds a term to the scores: an input read as `[batch, heads, queries, keys]`, where stride 0 broadcasts.
    pub fn bias(mut self, bias: Strided) -> Self {
        self.add_bias(bias);
        self
    }

    /// [`Attention::bias`] in place.
    pub fn add_bias(&mut self, bias: Strided) {
        self.biases.push(bias);
    }

    /// Query `s` sees key `t` only when `t <= s + offset`.
    pub fn causal(mut self, offset: isize) -> Self {
        self.causal = Some(offset);
        self
    }

    /// Replaces each scaled score `x` by `cap * tanh(x / cap)` before the biases; 0 switches it off.
    pub fn softcap(mut self, cap: f32) -> Self {
        self.softcap = cap;
        self
    }

    pub fn undefined_row(mut self, value: UndefinedRow) -> Self {
        self.undefined_row = value;
        self
    }

    /// Rows of the largest tile. A lone row counts twice: see [`gemm`].
    fn tile_rows(&self) -> usize {
        self.dims.queries.clamp(2, TILE_ROWS)
    }

    /// Elements of the score block, the sums of products, and a running maximum and sum for each row.
    fn scratch_parts(&self) -> [usize; 4] {
        let rows = self.tile_rows();
        [rows * self.dims.keys.min(TILE_KEYS), rows * self.dims.value_head, rows, rows]
    }

    /// Number of leading keys that query `row` sees.
    fn visible(&self, row: usize) -> usize {
        match self.causal {
            Some(offset) => (row + 1).saturating_add_signed(offset).min(self.dims.keys),
            None => self.dims.keys,
        }
    }
}

impl fmt::Display for Attention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let d = &self.dims;
        write!(
            f,
            "attention b={} h={}/{} s={} t={} d={}/{}",
            d.batch, d.heads, d.kv_heads, d.queries, d.keys, d.head, d.value_head
        )?;
        if self.causal.is_some() {
            write!(f, " causal")?;
        }
        Ok(())
    }
}

impl Driver for Attention {
    fn scratch(&self) -> usize {
        self.scratch_parts().iter().sum::<usize>() * size_of::<f32>()
    }

    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, scratch: &mut [u8]) -> Result<(), RunError> {
        let d = &self.dims;
        let tiles = d.queries.div_ceil(TILE_ROWS);
        let [scores, acc, max, _] = self.scratch_parts();
        let (scores, rest) = bytemuck::cast_slice_mut(scratch).split_at_mut(scores);
        let (acc, rest) = rest.split_at_mut(acc);
        let (max, sum) = rest.split_at_mut(max);
        let mut tile = Tile {
            attention: self,
            q: io.input(0),
            k: io.input(1),
            v: io.input(2),
            biases: (0..self.biases.len()).map(|index| io.input(3 + index)).collect(),
            out: io.output(0),
            scores,
            acc,
            max,
            sum,
        };
        for unit in worker.share(d.batch * d.heads * tiles, 1) {
            let (at, index) = (unit / tiles, unit % tiles);
            let first = index * TILE_ROWS;
            tile.run(at / d.heads, at % d.heads, first, TILE_ROWS.min(d.queries - first))?;
        }
        Ok(())
    }
}

/// The operands of a run and one rank's scratch.
struct Tile<'a> {
    attention: &'a Attention,
    q: &'a [f32],
    k: &'a [f32],
    v: &'a [f32],
    biases: SmallVec<[&'a [f32]; 2]>,
    out: SharedOut<'a, f32>,
    scores: &'a mut [f32],
    acc: &'a mut [f32],
    max: &'a mut [f32],
    sum: &'a mut [f32],
}

impl Tile<'_> {
    /// Computes the output rows `first..first + rows` of one head.
    fn run(&mut self, batch: usize, head: usize, first: usize, rows: usize) -> Result<(), RunError> {
        let attention = self.attention;
        let keys = attention.visible(first + rows - 1);
        self.max[..rows].fill(f32::NEG_INFINITY);
        self.sum[..rows].fill(0.0);
        if keys == 0 {
            self.acc[..rows * attention.dims.value_head].fill(0.0);
        }
        for start in (0..keys).step_by(TILE_KEYS) {
            self.block(batch, head, first, rows, start, TILE_KEYS.min(keys - start))?;
        }
        self.finish(batch, head, first, rows);
        Ok(())
    }

    /// Folds the keys `start..start + cols` into the rows.
    fn block(
        &mut self,
        batch: usize,
        head: usize,
        first: usize,
        rows: usize,
        start: usize,
        cols: usize,
    ) -> Result<(), RunError> {
        let attention = self.attention;
        let d = &attention.dims;
        let kv_head = head / (d.heads / d.kv_heads);
        let q = attention.q.matrix(self.q, batch, head, first, [rows, d.head]);
        let k = attention.k.transposed(self.k, batch, kv_head, start, [d.head, cols]);
        gemm(self.scores, q, k, attention.scale, 0.0)?;
        let scores = &mut self.scores[..rows * cols];
        if attention.softcap != 0.0 {
            online::softcap(scores, attention.softcap);
        }
        for (bias, data) in attention.biases.iter().zip(&self.biases) {
            for (row, scores) in scores.chunks_exact_mut(cols).enumerate() {
                bias.add_row(data, batch, head, first + row, start, scores);
            }
        }
        if attention.causal.is_some() {
            for (row, scores) in scores.chunks_exact_mut(cols).enumerate() {
                let visible = attention.visible(first + row).saturating_sub(start).min(cols);
                scores[visible..].fill(f32::NEG_INFINITY);
            }
        }
        let first_block = start == 0;
        let acc_len = if first_block { 0 } else { rows * d.value_head };
        let (max, sum) = (&mut self.max[..rows], &mut self.sum[..rows]);
        Fold { scores, cols, max, sum, acc: &mut self.acc[..acc_len] }.dispatch();
        let weights = matrix(self.scores, [rows, cols], [cols, 1]);
        let v = attention.v.matrix(self.v, batch, kv_head, start, [cols, d.value_head]);
        gemm(self.acc, weights, v, 1.0, if first_block { 0.0 } else { 1.0 })
    }

    /// Divides by the sums and stores.
    fn finish(&mut self, batch: usize, head: usize, first: usize, rows: usize) {
        let attention = self.attention;
        let width = attention.dims.value_head;
        for row in 0..rows {
            let at = attention.out.at(batch, head, first + row);
            // SAFETY: `out` is a dense order of distinct rows, and each tile belongs to one rank.
            let out = unsafe { self.out.range(at..at + width) };
            let acc = &self.acc[row * width..][..width];
            Finish { out, acc, sum: self.sum[row], undefined: attention.undefined_row }.dispatch();
        }
    }
}

/// `out = alpha * a . b + beta * out` for the leading elements of `out`.
fn gemm(out: &mut [f32], a: Matrix<'_>, b: Matrix<'_>, alpha: f32, beta: f32) -> Result<(), RunError> {
    // A single row would enter rten's matrix-vector path, which hands its work to another thread.
    let a = if a.rows() == 1 { a.broadcast([2, a.cols()]) } else { a };
    gemm_f32(a, b, alpha, beta, &mut out[..a.rows() * b.cols()])
}

#[cfg(test)]
mod tests;
