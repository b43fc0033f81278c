use std::fmt;
use std::sync::Arc;

use super::{BLOCK_ROWS, ROW_GRAIN};
use crate::driver::{Driver, RunError};
use crate::host;
use crate::ops::epilogue::{Block, Epilogue, Tile};
use crate::ops::ranks;
use crate::pack::PackedWeights;
use crate::rt::Worker;
use crate::tape::Io;

/// `Y[m, n] = epilogue(alpha * A[m, k] x B[k, n])` with constant `B`.
///
/// Inputs: `A` (f32), then the bias and the residual where the epilogue has them. Output: `Y` (f32, row-major).
pub struct MatMul {
    m: usize,
    a_transposed: bool,
    alpha: f32,
    weights: Arc<PackedWeights>,
    epilogue: Epilogue,
}

impl MatMul {
    /// `A` is row-major `[m, k]`, or `[k, m]` when `a_transposed`.
    pub fn new(m: usize, a_transposed: bool, alpha: f32, weights: Arc<PackedWeights>, epilogue: Epilogue) -> Self {
        Self { m, a_transposed, alpha, weights, epilogue }
    }
}

impl fmt::Display for MatMul {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let weights = &self.weights;
        write!(f, "matmul m={} n={} k={} b={}", self.m, weights.n(), weights.k(), weights.layout())?;
        write!(f, "{}", self.epilogue)
    }
}

impl Driver for MatMul {
    fn scratch(&self) -> usize {
        BLOCK_ROWS.min(self.m) * self.weights.layout().panel() * size_of::<f32>()
    }

    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, scratch: &mut [u8]) -> Result<(), RunError> {
        let (m, k, n) = (self.m, self.weights.k(), self.weights.n());
        let panels = self.weights.host_f32()?;
        let strides = if self.a_transposed { [1, m] } else { [k, 1] };
        let a = host::matrix(io.input::<f32>(0), [m, k], strides);
        let operands = self.epilogue.operands(io, 1);
        self.epilogue.check(m, n, &operands);
        let out = io.output::<f32>(0);
        let shape = ranks::Matrix {
            m,
            row_grain: ROW_GRAIN,
            panels: self.weights.panels(),
            panel: self.weights.layout().panel(),
            k,
        };
        let (rows, share) = shape.share(worker);
        let tile: &mut [f32] = bytemuck::cast_slice_mut(scratch);
        for start in rows.clone().step_by(BLOCK_ROWS) {
            let rows = start..(start + BLOCK_ROWS).min(rows.end);
            let a = a.slice((rows.clone(), ..));
            for panel in share.clone() {
                let block = Block { rows: rows.clone(), columns: self.weights.columns(panel) };
                let sums = &mut tile[..block.rows.len() * block.columns.len()];
                panels.panel(panel).multiply(a, self.alpha, sums)?;
                let tile = Tile { sums, columns: block.columns.len() };
                // SAFETY: the blocks of ranks, panels and row blocks are disjoint.
                unsafe { self.epilogue.store(tile, &block, &operands, out, n) };
            }
        }
        Ok(())
    }
}
