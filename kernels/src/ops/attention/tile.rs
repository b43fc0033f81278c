//! One rank's work on some query rows and a range of the keys that they see.

use std::ops::Range;

use rten_simd::SimdOp;
use rten_tensor::{Matrix, MatrixLayout};
use smallvec::SmallVec;

use super::cache::head_scales;
use super::online::{self, Fold};
use super::stream::{Dots, Rows, WeightedSums};
use super::{Attention, ScoreStage, Source, Span, Strided};
use crate::driver::RunError;
use crate::host::{gemm_f32, matrix};
use crate::mem::Scratch;
use crate::tape::Io;

/// The query rows of a tile: `queries` from position `first` on of each of `heads` heads that share keys and values, and
/// the keys that they are to see.
pub(super) struct Unit {
    pub batch: usize,
    pub head: usize,
    pub heads: usize,
    pub first: usize,
    pub queries: usize,
    pub span: Span,
    pub keys: Range<usize>,
}

impl Unit {
    pub fn rows(&self) -> usize {
        self.heads * self.queries
    }

    /// Head and query of a row.
    pub fn row(&self, row: usize) -> (usize, usize) {
        (self.head + row / self.queries, self.first + row % self.queries)
    }
}

/// The operands of a run and one rank's scratch.
pub(super) struct Tile<'a> {
    attention: &'a Attention,
    q: &'a [f32],
    k: Operand<'a>,
    v: Operand<'a>,
    biases: SmallVec<[(Strided, &'a [f32]); 2]>,
    /// The query rows, one after the other.
    queries: &'a mut [f32],
    pub scores: &'a mut [f32],
    /// A block of keys or values of a cache that is not in f32.
    stage: &'a mut [f32],
    pub acc: &'a mut [f32],
    pub max: &'a mut [f32],
    pub sum: &'a mut [f32],
}

impl<'a> Tile<'a> {
    /// Elements of the parts of [`Tile`] that are scratch, in their order.
    pub fn parts(attention: &Attention) -> [usize; 6] {
        let d = &attention.dims;
        // A lone row counts twice: see `gemm`.
        let rows = attention.tile_rows().max(2);
        let keys = d.keys.min(attention.block_keys());
        let staged = attention.k.is_staged() || attention.v.is_staged();
        let stage = if staged { keys * d.head.max(d.value_head) } else { 0 };
        [rows * d.head, rows * keys, stage, rows * d.value_head, rows, rows]
    }

    pub fn new(attention: &'a Attention, io: &Io<'a>, scratch: &'a mut [u8]) -> Self {
        let mut scratch = Scratch::new(scratch);
        let [queries, scores, stage, acc, max, sum] = Self::parts(attention).map(|len| scratch.take(len));
        Self {
            attention,
            q: io.input(0),
            k: Operand::new(&attention.k, io, 1),
            v: Operand::new(&attention.v, io, 2),
            biases: attention.biases.iter().map(|&(index, at)| (at, io.input(index))).collect(),
            queries,
            scores,
            stage,
            acc,
            max,
            sum,
        }
    }

    /// Leaves in `max`, `sum` and `acc` what the unit's keys contribute to its rows.
    pub fn run(&mut self, unit: &Unit) -> Result<(), RunError> {
        let rows = unit.rows();
        self.max[..rows].fill(f32::NEG_INFINITY);
        self.sum[..rows].fill(0.0);
        self.acc[..rows * self.attention.dims.value_head].fill(0.0);
        self.gather_queries(unit);
        let block = self.attention.block_keys();
        for start in unit.keys.clone().step_by(block) {
            self.block(unit, start, block.min(unit.keys.end - start))?;
        }
        Ok(())
    }

    pub fn gather_queries(&mut self, unit: &Unit) {
        let (at, width) = (&self.attention.q, self.attention.dims.head);
        for (row, to) in self.queries.chunks_exact_mut(width.max(1)).take(unit.rows()).enumerate() {
            let (head, query) = unit.row(row);
            let from = at.at(unit.batch, head, query);
            match at.col {
                1 => to.copy_from_slice(&self.q[from..from + width]),
                _ => to.iter_mut().enumerate().for_each(|(col, x)| *x = self.q[from + col * at.col]),
            }
        }
    }

    /// Folds the keys `start..start + cols` into the rows.
    fn block(&mut self, unit: &Unit, start: usize, cols: usize) -> Result<(), RunError> {
        let attention = self.attention;
        let (rows, width) = (unit.rows(), attention.dims.value_head);
        self.score(unit, start, cols, ScoreStage::Biased)?;
        let scores = &mut self.scores[..rows * cols];
        let (max, sum, acc) = (&mut self.max[..rows], &mut self.sum[..rows], &mut self.acc[..rows * width]);
        Fold { scores: &mut *scores, cols, max, sum, acc: &mut *acc }.dispatch();
        let v = self.v.block(unit, width, start, cols, self.stage);
        if attention.streams() && v.strides[1] == 1 {
            WeightedSums { weights: scores, keys: cols, v: v.rows(width), acc }.dispatch();
            return Ok(());
        }
        gemm(self.acc, self.scores, [rows, cols], v.matrix([cols, width]), 1.0, 1.0)
    }

    /// Leaves in `scores` those of the unit's rows, whose queries were gathered, for the keys `start..start + cols`.
    pub fn score(&mut self, unit: &Unit, start: usize, cols: usize, stage: ScoreStage) -> Result<(), RunError> {
        self.products(unit, start, cols)?;
        let attention = self.attention;
        let scores = &mut self.scores[..unit.rows() * cols];
        if attention.softcap != 0.0 && stage >= ScoreStage::Capped {
            online::softcap(scores, attention.softcap);
        }
        if stage < ScoreStage::Biased {
            return Ok(());
        }
        for (row, scores) in scores.chunks_exact_mut(cols).enumerate() {
            let (head, query) = unit.row(row);
            let inside = |key: usize| key.saturating_sub(start).min(cols);
            // A bias may end where the sequence does.
            let filled = inside(unit.span.keys);
            for (bias, data) in self.biases.iter().filter(|_| filled > 0) {
                bias.add_row(data, unit.batch, head, query, start, &mut scores[..filled]);
            }
            let visible = attention.visible(unit.span, query);
            scores[..inside(visible.start)].fill(f32::NEG_INFINITY);
            scores[inside(visible.end)..].fill(f32::NEG_INFINITY);
        }
        Ok(())
    }

    /// `scores = scale * q . k` for the keys `start..start + cols`.
    fn products(&mut self, unit: &Unit, start: usize, cols: usize) -> Result<(), RunError> {
        let attention = self.attention;
        let (rows, width) = (unit.rows(), attention.dims.head);
        let k = self.k.block(unit, width, start, cols, self.stage);
        if attention.streams() && k.strides[1] == 1 {
            let (q, scores) = (&self.queries[..rows * width], &mut self.scores[..rows * cols]);
            Dots { q, k: k.rows(width), keys: cols, scale: attention.scale, scores }.dispatch();
            return Ok(());
        }
        let k = Block { strides: [k.strides[1], k.strides[0]], ..k };
        gemm(self.scores, self.queries, [rows, width], k.matrix([width, cols]), attention.scale, 0.0)
    }
}

/// Keys or values of a run.
struct Operand<'a> {
    source: &'a Source,
    /// Elements in f32, else `bytes`.
    data: &'a [f32],
    bytes: &'a [u8],
    scales: &'a [f32],
}

/// Rows of one head, in place or unpacked.
struct Block<'a> {
    data: &'a [f32],
    /// From row to row and from column to column.
    strides: [usize; 2],
}

impl<'a> Operand<'a> {
    fn new(source: &'a Source, io: &Io<'a>, index: usize) -> Self {
        let scales = source.scales.map_or(&[][..], |index| io.input(index));
        match source.is_staged() {
            true => Self { source, data: &[], bytes: io.input(index), scales },
            false => Self { source, data: io.input(index), bytes: &[], scales },
        }
    }

    /// Rows `start..start + rows` of the unit's head.
    fn block<'s>(&self, unit: &Unit, width: usize, start: usize, rows: usize, stage: &'s mut [f32]) -> Block<'s>
    where
        'a: 's,
    {
        let Source { at, format, group, .. } = self.source;
        let head = unit.head / group;
        let first = at.at(unit.batch, head, start);
        if width == 0 {
            return Block { data: &[], strides: [0, 1] };
        }
        if !self.source.is_staged() {
            return Block { data: &self.data[first..], strides: [at.row, at.col] };
        }
        let scales = head_scales(self.scales, head, width);
        let stage = &mut stage[..rows * width];
        for (row, to) in stage.chunks_exact_mut(width).enumerate() {
            let bytes = &self.bytes[format.bytes(first + row * at.row)..][..format.bytes(width)];
            format.unpack(bytes, scales, to);
        }
        Block { data: stage, strides: [width, 1] }
    }
}

impl<'a> Block<'a> {
    fn rows(&self, width: usize) -> Rows<'a> {
        Rows { data: self.data, stride: self.strides[0], width }
    }

    fn matrix(&self, shape: [usize; 2]) -> Matrix<'a> {
        matrix(if shape.contains(&0) { &[] } else { self.data }, shape, self.strides)
    }
}

/// `out = alpha * a . b + beta * out` for the leading elements of `out`, where `a` is row-major.
fn gemm(out: &mut [f32], a: &[f32], shape: [usize; 2], b: Matrix<'_>, alpha: f32, beta: f32) -> Result<(), RunError> {
    let a = matrix(a, shape, [shape[1], 1]);
    // A single row would enter rten's matrix-vector path, which hands its work to another thread.
    let a = if a.rows() == 1 { a.broadcast([2, a.cols()]) } else { a };
    gemm_f32(a, b, alpha, beta, &mut out[..a.rows() * b.cols()])
}
