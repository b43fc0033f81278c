//! One rank's work on some query rows and a range of the keys that they see.

use std::ops::Range;

use rten_simd::SimdOp;
use rten_tensor::{Matrix, MatrixLayout};
use smallvec::SmallVec;

use super::chip::{Chip, PADDING};
use super::online::{self, Fold};
use super::operand::{Block, Operand};
use super::stream::{Dots, WeightedSums};
use super::{Attention, ScoreStage, Span, Strided};
use crate::driver::RunError;
use crate::host::{gemm_f32, matrix};
use crate::mem::Scratch;
use crate::rt::Worker;
use crate::tape::Io;
use crate::ukr::binary_f32::Function;
use crate::vector::{self, COLUMNS};

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
    pub attention: &'a Attention,
    pub worker: &'a Worker<'a>,
    pub q: &'a [f32],
    pub k: Operand<'a>,
    pub v: Operand<'a>,
    pub biases: SmallVec<[(Strided, &'a [f32]); 2]>,
    /// The query rows, one after the other.
    queries: &'a mut [f32],
    /// Rows are [`Attention::pitch`] apart, or have a panel's columns for each key.
    pub scores: &'a mut [f32],
    /// A block of keys or values of a cache that is not in f32.
    stage: &'a mut [f32],
    pub acc: &'a mut [f32],
    pub max: &'a mut [f32],
    pub sum: &'a mut [f32],
    /// What multiplies where it is not the host's engine.
    pub chip: Option<Chip<'a>>,
}

impl<'a> Tile<'a> {
    /// Elements of the parts of [`Tile`] that are scratch, in their order.
    fn parts(attention: &Attention) -> [usize; 6] {
        let d = &attention.dims;
        let keys = attention.most_keys();
        if attention.packed_blocks().is_some() {
            let rows = attention.padded_rows();
            return [0, keys.next_multiple_of(PADDING) * COLUMNS, 0, rows * d.value_head, rows, rows];
        }
        // A lone row counts twice: see `gemm`.
        let rows = attention.tile_rows().max(2);
        let staged = attention.k.is_staged() || attention.v.is_staged();
        let stage = if staged { keys * d.head.max(d.value_head) } else { 0 };
        [rows * d.head, rows * attention.pitch(keys), stage, rows * d.value_head, rows, rows]
    }

    /// Bytes of scratch.
    pub fn scratch(attention: &Attention) -> usize {
        let parts: usize = Self::parts(attention).map(Scratch::bytes::<f32>).iter().sum();
        parts + attention.packed_blocks().map_or(0, |_| Chip::scratch(attention))
    }

    pub fn new(attention: &'a Attention, worker: &'a Worker<'a>, io: &Io<'a>, scratch: &'a mut [u8]) -> Self {
        let mut scratch = Scratch::new(scratch);
        let [queries, scores, stage, acc, max, sum] = Self::parts(attention).map(|len| scratch.take(len));
        let chip = attention.packed_blocks().map(|blocks| Chip::new(blocks, attention, &mut scratch));
        Self {
            attention,
            worker,
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
            chip,
        }
    }

    /// Leaves in `max`, `sum` and `acc` what the unit's keys contribute to its rows.
    pub fn run(&mut self, unit: &Unit) -> Result<(), RunError> {
        self.max.fill(f32::NEG_INFINITY);
        self.sum.fill(0.0);
        if self.chip.is_some() {
            self.run_panels(unit);
            return Ok(());
        }
        self.acc.fill(0.0);
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
        let pitch = attention.pitch(cols);
        let scores = &mut self.scores[..rows * pitch];
        let (max, sum, acc) = (&mut self.max[..rows], &mut self.sum[..rows], &mut self.acc[..rows * width]);
        Fold { scores: &mut *scores, pitch, cols, max, sum, acc: &mut *acc }.run(self.worker);
        self.add_values(unit, start, cols)
    }

    /// `acc += scores . v` for the keys `start..start + cols`.
    fn add_values(&mut self, unit: &Unit, start: usize, cols: usize) -> Result<(), RunError> {
        let Self { attention, worker, v, scores, stage, acc, .. } = self;
        let (rows, width, pitch) = (unit.rows(), attention.dims.value_head, attention.pitch(cols));
        let (scores, acc) = (&scores[..rows * pitch], &mut acc[..rows * width]);
        if attention.streams() {
            let halves = v.in_halves(unit, width, start);
            if halves
                .is_some_and(|halves| vector::row_sums(worker, (scores, pitch), (halves, cols), acc, attention.rounds))
            {
                return Ok(());
            }
            let v = v.block(worker, unit, width, start, cols, stage).rows(width);
            if width > 0 && !vector::row_sums(worker, (scores, pitch), (v, cols), acc, attention.rounds) {
                WeightedSums { weights: scores, pitch, keys: cols, v, acc }.dispatch();
            }
            return Ok(());
        }
        let v = v.block(worker, unit, width, start, cols, stage);
        gemm(self.acc, self.scores, [rows, cols], v.matrix([cols, width]), 1.0, 1.0)
    }

    /// Leaves in `scores` those of the unit's rows, whose queries were gathered, for the keys `start..start + cols`.
    pub fn score(&mut self, unit: &Unit, start: usize, cols: usize, stage: ScoreStage) -> Result<(), RunError> {
        self.products(unit, start, cols)?;
        let attention = self.attention;
        let pitch = attention.pitch(cols);
        let scores = &mut self.scores[..unit.rows() * pitch];
        if attention.softcap != 0.0 && stage >= ScoreStage::Capped {
            online::softcap(self.worker, scores, attention.softcap);
        }
        if stage < ScoreStage::Biased {
            return Ok(());
        }
        let add = vector::Binary::new(self.worker, Function::Add);
        for (row, scores) in scores.chunks_exact_mut(pitch).enumerate() {
            let (scores, (head, query)) = (&mut scores[..cols], unit.row(row));
            let inside = |key: usize| key.saturating_sub(start).min(cols);
            // A bias may end where the sequence does.
            let filled = inside(unit.span.keys);
            for (bias, data) in self.biases.iter().filter(|_| filled > 0) {
                let data = &data[bias.at(unit.batch, head, query) + start * bias.col..];
                match &add {
                    Some(add) if bias.col == 1 => add.map_in_place(&mut scores[..filled], &data[..filled]),
                    _ => bias.add_row(data, &mut scores[..filled]),
                }
            }
            let visible = attention.visible(unit.span, query);
            scores[..inside(visible.start)].fill(f32::NEG_INFINITY);
            scores[inside(visible.end)..].fill(f32::NEG_INFINITY);
        }
        Ok(())
    }

    /// `scores = scale * q . k` for the keys `start..start + cols`.
    fn products(&mut self, unit: &Unit, start: usize, cols: usize) -> Result<(), RunError> {
        let Self { attention, worker, queries, k, scores, stage, .. } = self;
        let (rows, width, pitch) = (unit.rows(), attention.dims.head, attention.pitch(cols));
        if attention.streams() {
            let (q, scores, scale) = (&queries[..rows * width], &mut scores[..rows * pitch], attention.scale);
            let halves = k.in_halves(unit, width, start);
            if halves.is_some_and(|halves| {
                vector::row_dots(worker, q, (halves, cols), scale, (scores, pitch), attention.rounds)
            }) {
                return Ok(());
            }
            let k = k.block(worker, unit, width, start, cols, stage).rows(width);
            if width == 0 || !vector::row_dots(worker, q, (k, cols), scale, (scores, pitch), attention.rounds) {
                Dots { q, k, keys: cols, scale, scores, pitch }.dispatch();
            }
            return Ok(());
        }
        let k = k.block(worker, unit, width, start, cols, stage);
        let k = Block { strides: [k.strides[1], k.strides[0]], ..k };
        gemm(self.scores, self.queries, [rows, width], k.matrix([width, cols]), attention.scale, 0.0)
    }
}

/// `out = alpha * a . b + beta * out` for the leading elements of `out`, where `a` is row-major.
fn gemm(out: &mut [f32], a: &[f32], shape: [usize; 2], b: Matrix<'_>, alpha: f32, beta: f32) -> Result<(), RunError> {
    let a = matrix(a, shape, [shape[1], 1]);
    // A single row would enter rten's matrix-vector path, which hands its work to another thread.
    let a = if a.rows() == 1 { a.broadcast([2, a.cols()]) } else { a };
    gemm_f32(a, b, alpha, beta, &mut out[..a.rows() * b.cols()])
}
