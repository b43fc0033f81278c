use std::fmt;

use super::engine::{HOST_GRAIN, HOST_ROWS};
use crate::driver::{Driver, RunError};
use crate::host::{self, F32Panel, PANEL};
use crate::ops::epilogue::{Block, Epilogue, Tile};
use crate::ops::ranks;
use crate::rt::Worker;
use crate::tape::Io;

/// `Y[i] = epilogue(alpha * A[i] x B[i])` for each matrix `i` of a batch, both sides known at run time only.
///
/// Inputs: `A` and `B` (f32), then the bias and the residual where the epilogue has them; the epilogue sees the batch as
/// one matrix of `batch * m` rows. Output: `Y` (f32), `[batch, m, n]` row-major.
pub struct BatchedMatMul {
    shape: BatchShape,
    alpha: f32,
    epilogue: Epilogue,
}

/// Where the matrices of a batched product are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchShape {
    pub m: usize,
    pub k: usize,
    pub n: usize,
    /// Strides of the rows and columns of `A` in elements.
    pub a_strides: [usize; 2],
    /// Strides of the rows and columns of `B` in elements.
    pub b_strides: [usize; 2],
    /// For each product: the first element of its `A` and of its `B`.
    pub offsets: Vec<[usize; 2]>,
}

impl BatchedMatMul {
    pub fn new(shape: BatchShape, alpha: f32, epilogue: Epilogue) -> Self {
        Self { shape, alpha, epilogue }
    }
}

impl fmt::Display for BatchedMatMul {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BatchShape { m, k, n, offsets, .. } = &self.shape;
        write!(f, "matmul batch={} m={m} n={n} k={k}{}", offsets.len(), self.epilogue)
    }
}

impl Driver for BatchedMatMul {
    fn scratch(&self) -> usize {
        HOST_ROWS.min(self.shape.m) * PANEL * size_of::<f32>()
    }

    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, scratch: &mut [u8]) -> Result<(), RunError> {
        let &BatchShape { m, k, n, a_strides, b_strides, ref offsets } = &self.shape;
        let (a, b, out) = (io.input::<f32>(0), io.input::<f32>(1), io.output::<f32>(0));
        let operands = self.epilogue.operands(io, 2);
        self.epilogue.check(offsets.len() * m, n, &operands);
        let panels = n.div_ceil(PANEL);
        let strips = ranks::Matrix { m, row_grain: HOST_GRAIN, panels: offsets.len() * panels, panel: PANEL.min(n), k };
        let (rows, share) = strips.share(worker);
        let tile: &mut [f32] = bytemuck::cast_slice_mut(scratch);
        for strip in share {
            let (product, panel) = (strip / panels, strip % panels);
            let [a_offset, b_offset] = offsets[product];
            let a = host::matrix(&a[a_offset..], [m, k], a_strides);
            let b = host::matrix(&b[b_offset..], [k, n], b_strides);
            let columns = panel * PANEL..((panel + 1) * PANEL).min(n);
            let packed = F32Panel::pack_again(b.slice((.., columns.clone())));
            for start in rows.clone().step_by(HOST_ROWS) {
                let rows = start..(start + HOST_ROWS).min(rows.end);
                let sums = &mut tile[..rows.len() * columns.len()];
                packed.multiply(a.slice((rows.clone(), ..)), self.alpha, sums)?;
                let first = product * m;
                let block = Block { rows: first + rows.start..first + rows.end, columns: columns.clone() };
                // SAFETY: the blocks of ranks, strips and row blocks are disjoint.
                unsafe { self.epilogue.store(Tile { sums, columns: columns.len() }, &block, &operands, out, n) };
            }
            packed.give_back();
        }
        Ok(())
    }
}
