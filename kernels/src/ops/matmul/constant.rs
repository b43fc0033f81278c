use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use half::f16;

use super::engine::{Engine, Left};
use crate::driver::{Driver, RunError};
use crate::isa::Target;
use crate::mem::Scratch;
use crate::ops::blocks::LeftRows;
use crate::ops::epilogue::{Block, Epilogue, Tile};
use crate::ops::ranks;
use crate::pack::{PackedWeights, Rows};
use crate::rt::Worker;
use crate::tape::Io;
use crate::ukr::matmul_bias_f16_f16_f32::{Bias, MatMulBiasF16F16F32};
use crate::vector::pointer;

/// `Y[m, n] = epilogue(alpha * A[m, k] x B[k, n])` with constant `B`.
///
/// Inputs: `A` (f32, or f16 where the layout of `B` is), then the bias and the residual where the epilogue has them. Output: `Y` (f32, row-major).
pub struct MatMul {
    m: usize,
    a_transposed: bool,
    alpha: f32,
    engine: Engine,
    weights: Arc<PackedWeights>,
    epilogue: Epilogue,
}

impl MatMul {
    /// `A` is row-major `[m, k]`, or `[k, m]` when `a_transposed`.
    pub fn new(
        target: &Target,
        m: usize,
        a_transposed: bool,
        alpha: f32,
        weights: Arc<PackedWeights>,
        epilogue: Epilogue,
    ) -> Self {
        Self { m, a_transposed, alpha, engine: Engine::new(target.core, weights.layout()), weights, epilogue }
    }
}

impl fmt::Display for MatMul {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (weights, engine) = (&self.weights, self.engine.name());
        write!(f, "matmul m={} n={} k={} b={}", self.m, weights.n(), weights.k(), weights.layout())?;
        write!(f, "{} by {engine}", self.epilogue)
    }
}

impl Driver for MatMul {
    fn scratch(&self) -> usize {
        let k = self.weights.k();
        let rows = self.engine.rows_of(self.m, k);
        Scratch::bytes::<f32>(self.engine.sums_len(rows)) + Scratch::bytes::<f32>(self.engine.left_len(rows, k))
    }

    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, scratch: &mut [u8]) -> Result<(), RunError> {
        let (m, k, n, strip) = (self.m, self.weights.k(), self.weights.n(), self.engine.strip());
        let strides = if self.a_transposed { [1, m] } else { [k, 1] };
        let operands = self.epilogue.operands(io, 1);
        self.epilogue.check(m, n, &operands);
        let out = io.output::<f32>(0);
        let shape =
            ranks::Matrix { m, row_grain: self.engine.grain(), panels: n.div_ceil(strip), panel: strip.min(n), k };
        let (rows, share) = shape.share(worker);
        if share.is_empty() {
            return Ok(());
        }
        let (block, mut scratch) = (self.engine.rows_of(m, k), Scratch::new(scratch));
        let sums = scratch.take(self.engine.sums_len(block));
        let packed = scratch.take(self.engine.left_len(block, k));
        for start in rows.clone().step_by(block.max(1)) {
            let rows = start..(start + block).min(rows.end);
            let left = match self.engine {
                Engine::Half(_) => {
                    let a = Rows { data: io.input::<f16>(0), rows: m, k, strides };
                    self.engine.left_half(worker, a.part(rows.start, rows.len()), packed)
                }
                _ => {
                    let a = Rows { data: io.input::<f32>(0), rows: m, k, strides };
                    self.engine.left(Some(worker), a.part(rows.start, rows.len()), packed)
                }
            };
            let share = self.finish(worker, (&left, rows.clone()), share.clone(), io)?;
            let finish = |strips: Range<usize>, sums: &[f32], width| {
                let columns = strips.start * strip..(strips.end * strip).min(n);
                let block = Block { rows: rows.clone(), columns };
                // SAFETY: the blocks of ranks, strips and row blocks are disjoint.
                unsafe { self.epilogue.store(worker, Tile { sums, columns: width }, &block, &operands, out, n) };
            };
            let (left, right) = ((&left, rows.len()), (&*self.weights, share));
            self.engine.multiply_strips(worker, left, right, self.alpha, sums, finish)?;
        }
        Ok(())
    }
}

impl MatMul {
    /// Stores the results of whole panels where a kernel finishes them itself; returns the strips that are left.
    fn finish(
        &self,
        worker: &Worker<'_>,
        (left, rows): (&Left<'_>, Range<usize>),
        share: Range<usize>,
        io: &Io<'_>,
    ) -> Result<Range<usize>, RunError> {
        let (Engine::Half(blocks), Left::Half(packed), true) = (self.engine, left, self.alpha == 1.0) else {
            return Ok(share);
        };
        let (n, strip, operands) = (self.weights.n(), blocks.columns(), self.epilogue.operands(io, 1));
        let panels = share.start..share.end.min(n / strip).max(share.start);
        let bias = |first: usize| Bias(pointer(operands.bias.get(first..first + strip).unwrap_or_default()));
        let left = LeftRows { packed, rows: rows.clone(), factors: &[] };
        let (right, out) = ((&*self.weights, panels.clone()), io.output(0));
        // SAFETY: the blocks of ranks, strips and row blocks are disjoint, and a bias has numbers for whole panels.
        unsafe {
            if !blocks.finish_panels::<MatMulBiasF16F16F32, _>(worker, left, right, bias, (out, n))? {
                return Ok(share);
            }
            let block = Block { rows, columns: panels.start * strip..panels.end * strip };
            self.epilogue.finish(worker, &block, &operands, out, n);
        }
        Ok(panels.end..share.end)
    }
}
