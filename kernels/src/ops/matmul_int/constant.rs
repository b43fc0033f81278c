use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::engine::{Engine, Left};
use super::left::{LeftSide, ZeroPoint, row_sums};
use super::rescaled::Rescaled;
use super::sums::{Scaled, Sums};
use crate::driver::{Driver, RunError};
use crate::isa::Target;
use crate::mem::Scratch;
use crate::ops::epilogue::{Block, Epilogue};
use crate::ops::ranks;
use crate::pack::PackedWeights;
use crate::rt::Worker;
use crate::tape::Io;

/// `Y[m, n] = (A[m, k] - az) x (B[k, n] - bz)` with constant `B`, exact for `k` up to [`super::MAX_K`].
///
/// Inputs in this order: `A` (u8 or i8, row-major), its zero point where there is one (type of `A`), and for f32 outputs
/// the scale of `A` (one f32), the bias and the residual where the epilogue has them. Output: `Y`, row-major.
pub struct MatMulInt {
    m: usize,
    left: LeftSide,
    engine: Engine,
    weights: Arc<PackedWeights>,
    /// `bz` of each column, less the offset of the weights; empty when all are 0.
    b_zero_points: Box<[i32]>,
    output: IntOutput,
}

/// What becomes of the exact sums.
#[derive(Clone, Debug, PartialEq)]
pub enum IntOutput {
    /// Stored as they are.
    I32,
    /// `epilogue(float(sum) * (a_scale * b_scale))`; one or `n` scales of `B`.
    F32 { b_scales: Vec<f32>, epilogue: Epilogue },
}

impl MatMulInt {
    /// `b_zero_points` has no, one or `n` values.
    ///
    /// # Panics
    /// When there are other numbers of zero points or scales of `B`.
    pub fn new(
        target: &Target,
        m: usize,
        left: LeftSide,
        weights: Arc<PackedWeights>,
        b_zero_points: &[i32],
        mut output: IntOutput,
    ) -> Self {
        let n = weights.n();
        let zero_points = spread(if b_zero_points.is_empty() { &[0] } else { b_zero_points }, n);
        let mut b_zero_points: Box<[i32]> =
            zero_points.iter().map(|zero_point| zero_point - weights.offset()).collect();
        if b_zero_points.iter().all(|&zero_point| zero_point == 0) {
            b_zero_points = Box::default();
        }
        if let IntOutput::F32 { b_scales, .. } = &mut output {
            *b_scales = spread(b_scales, n);
        }
        Self { m, left, engine: Engine::new(target.core, weights.layout()), weights, b_zero_points, output }
    }

    fn block_rows(&self) -> usize {
        self.engine.rows_of(self.m, self.weights.k())
    }
}

/// One or `n` values as `n`.
fn spread<T: Copy>(values: &[T], n: usize) -> Vec<T> {
    match *values {
        [value] => vec![value; n],
        _ => {
            assert_eq!(values.len(), n, "one value or one for each column");
            values.to_vec()
        }
    }
}

impl fmt::Display for MatMulInt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (weights, a) = (&self.weights, self.left.type_name());
        write!(f, "matmul_int m={} n={} k={} a={a} b={}", self.m, weights.n(), weights.k(), weights.layout())?;
        match &self.output {
            IntOutput::I32 => f.write_str(" -> i32")?,
            IntOutput::F32 { epilogue, .. } => write!(f, " -> f32{epilogue}")?,
        }
        write!(f, " by {}", self.engine.name())
    }
}

impl Driver for MatMulInt {
    fn scratch(&self) -> usize {
        let (rows, k) = (self.block_rows(), self.weights.k());
        Scratch::bytes::<i32>(self.engine.sums_len(rows))
            + 2 * Scratch::bytes::<i32>(rows)
            + Scratch::bytes::<u8>(if self.left.signed { rows * k } else { 0 })
            + Scratch::bytes::<u8>(self.engine.left_len(rows, k))
    }

    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, scratch: &mut [u8]) -> Result<(), RunError> {
        let (m, k, n, strip) = (self.m, self.weights.k(), self.weights.n(), self.engine.strip());
        let shape =
            ranks::Matrix { m, row_grain: self.engine.grain(), panels: n.div_ceil(strip), panel: strip.min(n), k };
        let (rows, share) = shape.share(worker);
        if share.is_empty() {
            return Ok(());
        }
        let block_rows = self.block_rows();
        let mut scratch = Scratch::new(scratch);
        let mut buffers = Buffers {
            sums: scratch.take(self.engine.sums_len(block_rows)),
            a_zero_points: scratch.take(block_rows),
            row_sums: scratch.take(block_rows),
            unsigned: scratch.take(if self.left.signed { block_rows * k } else { 0 }),
            packed: scratch.take(self.engine.left_len(block_rows, k)),
        };
        for start in rows.clone().step_by(block_rows.max(1)) {
            let rows = start..(start + block_rows).min(rows.end);
            self.run_rows(worker, rows, share.clone(), io, &mut buffers)?;
        }
        Ok(())
    }
}

/// A rank's scratch.
struct Buffers<'a> {
    sums: &'a mut [i32],
    a_zero_points: &'a mut [i32],
    row_sums: &'a mut [i32],
    /// Rows of a signed `A`, plus 128.
    unsigned: &'a mut [u8],
    /// Rows as the engine reads them.
    packed: &'a mut [u8],
}

impl MatMulInt {
    /// One block of rows, all strips of this rank.
    fn run_rows(
        &self,
        worker: &Worker<'_>,
        rows: Range<usize>,
        share: Range<usize>,
        io: &Io<'_>,
        buffers: &mut Buffers<'_>,
    ) -> Result<(), RunError> {
        let (k, n, strip) = (self.weights.k(), self.weights.n(), self.engine.strip());
        let bytes = &io.input::<u8>(0)[rows.start * k..rows.end * k];
        let a = self.left.unsigned(bytes, buffers.unsigned);
        let zero_points = if self.left.zero_point == ZeroPoint::Absent { &[] } else { io.input::<u8>(1) };
        self.left.read_zero_points(&rows, zero_points, buffers.a_zero_points);
        if !self.b_zero_points.is_empty() {
            row_sums(a, k, &buffers.a_zero_points[..rows.len()], buffers.row_sums);
        }
        let left = self.engine.left(worker, self.engine.halved(&self.weights)?, a, [rows.len(), k], buffers.packed);
        let (a_zero_points, row_sums) = (&buffers.a_zero_points[..rows.len()], &buffers.row_sums[..rows.len()]);
        let share = self.rescale(worker, (&left, rows.clone()), share, (a_zero_points, row_sums), io)?;
        let finish = |strips: Range<usize>, sums: &[i32], width| {
            let columns = strips.start * strip..(strips.end * strip).min(n);
            let sums = Sums {
                sums,
                columns: width,
                a_zero_points,
                column_sums: &self.weights.column_sums()[columns.clone()],
                row_sums,
                b_zero_points: self.b_zero_points.get(columns.clone()).unwrap_or_default(),
            };
            self.store(worker, sums, &Block { rows: rows.clone(), columns }, io);
        };
        let (left_rows, right) = ((&left, rows.len()), (&*self.weights, share));
        self.engine.multiply_strips(worker, left_rows, right, buffers.sums, finish)?;
        left.give_back();
        Ok(())
    }

    /// Stores the results of whole panels where a kernel rescales them itself; returns the strips that are left.
    fn rescale(
        &self,
        worker: &Worker<'_>,
        (left, rows): (&Left<'_>, Range<usize>),
        share: Range<usize>,
        (a_zero_points, row_sums): (&[i32], &[i32]),
        io: &Io<'_>,
    ) -> Result<Range<usize>, RunError> {
        let (IntOutput::F32 { b_scales, epilogue }, Engine::Blocks(blocks), Left::Blocks(left)) =
            (&self.output, self.engine, left)
        else {
            return Ok(share);
        };
        let (n, strip, scale) = (self.weights.n(), blocks.columns(), self.scale_input());
        let end = share.end.min(n / strip).max(share.start);
        let operands = epilogue.operands(io, scale + 1);
        epilogue.check(self.m, n, &operands);
        let rescaled = Rescaled {
            weights: &self.weights,
            a_scale: io.input::<f32>(scale)[0],
            b_scales,
            bias: operands.bias,
            a_zero_point: (self.left.zero_point != ZeroPoint::Rows).then_some(a_zero_points[0]),
            a_zero_points,
            b_zero_points: &self.b_zero_points,
            row_sums,
        };
        let (out, panels) = (io.output(0), share.start..end);
        // SAFETY: the blocks of ranks, strips and row blocks are disjoint.
        unsafe {
            if !rescaled.store(blocks, worker, (left, rows.clone()), panels.clone(), (out, n))? {
                return Ok(share);
            }
            let block = Block { rows, columns: panels.start * strip..panels.end * strip };
            epilogue.finish(worker, &block, &operands, out, n);
        }
        Ok(end..share.end)
    }

    /// The input that is the scale of `A`.
    fn scale_input(&self) -> usize {
        1 + usize::from(self.left.zero_point != ZeroPoint::Absent)
    }

    fn store(&self, worker: &Worker<'_>, sums: Sums<'_>, block: &Block, io: &Io<'_>) {
        let (m, n) = (self.m, self.weights.n());
        match &self.output {
            // SAFETY: the blocks of ranks, strips and row blocks are disjoint.
            IntOutput::I32 => unsafe { sums.store(block, io.output(0), n) },
            IntOutput::F32 { b_scales, epilogue } => {
                let scale = self.scale_input();
                let a_scale = io.input::<f32>(scale)[0];
                let operands = epilogue.operands(io, scale + 1);
                epilogue.check(m, n, &operands);
                let scaled = Scaled { sums, a_scale, b_scales: &b_scales[block.columns.clone()] };
                // SAFETY: as above.
                unsafe { epilogue.store(worker, scaled, block, &operands, io.output(0), n) }
            }
        }
    }
}
