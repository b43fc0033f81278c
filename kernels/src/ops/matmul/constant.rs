use std::fmt;
use std::sync::Arc;

use half::f16;

use super::engine::Engine;
use crate::driver::{Driver, RunError};
use crate::isa::Target;
use crate::mem::Scratch;
use crate::ops::epilogue::{Block, Epilogue, Tile};
use crate::ops::ranks;
use crate::pack::{PackedWeights, Rows};
use crate::rt::Worker;
use crate::tape::Io;

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
        let rows = self.engine.rows().min(self.m);
        Scratch::bytes::<f32>(self.engine.strips() * self.engine.tile_len(rows))
            + Scratch::bytes::<f32>(self.engine.left_len(rows, self.weights.k()))
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
        let block = self.engine.rows();
        let (block_rows, mut scratch) = (block.min(m), Scratch::new(scratch));
        let tile = scratch.take(self.engine.strips() * self.engine.tile_len(block_rows));
        let packed = scratch.take(self.engine.left_len(block_rows, k));
        for start in rows.clone().step_by(block) {
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
            for first in share.clone().step_by(self.engine.strips()) {
                let strips = first..(first + self.engine.strips()).min(share.end);
                let columns = strips.start * strip..(strips.end * strip).min(n);
                let right = (&*self.weights, strips);
                let width = self.engine.multiply_strips(worker, &left, right, rows.len(), self.alpha, tile)?;
                let sums = Tile { sums: tile, columns: width };
                // SAFETY: the blocks of ranks, strips and row blocks are disjoint.
                unsafe { self.epilogue.store(worker, sums, &Block { rows: rows.clone(), columns }, &operands, out, n) };
            }
        }
        Ok(())
    }
}
