use std::fmt;
use std::ops::Range;

use super::engine::Engine;
use super::operand::columns;
use crate::driver::{Driver, RunError};
use crate::isa::Target;
use crate::mem::Scratch;
use crate::ops::epilogue::{Block, Epilogue, EpilogueOperands, Tile};
use crate::ops::ranks;
use crate::pack::Rows;
use crate::rt::Worker;
use crate::select;
use crate::tape::Io;

/// `Y[i] = epilogue(alpha * A[i] x B[i])` for each matrix `i` of a batch, both sides known at run time only.
///
/// Inputs: `A` and `B` (f32), then the bias and the residual where the epilogue has them; the epilogue sees the batch as
/// one matrix of `batch * m` rows. Output: `Y` (f32), `[batch, m, n]` row-major.
pub struct BatchedMatMul {
    shape: BatchShape,
    engine: Engine,
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
    pub fn new(target: &Target, shape: BatchShape, alpha: f32, epilogue: Epilogue) -> Self {
        let engine = Engine::new(target.core, select::f32_layout(target));
        Self { shape, engine, alpha, epilogue }
    }
}

impl fmt::Display for BatchedMatMul {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BatchShape { m, k, n, offsets, .. } = &self.shape;
        write!(f, "matmul batch={} m={m} n={n} k={k}{} by {}", offsets.len(), self.epilogue, self.engine.name())
    }
}

impl Driver for BatchedMatMul {
    fn scratch(&self) -> usize {
        let (rows, k) = (self.engine.rows().min(self.shape.m), self.shape.k);
        Scratch::bytes::<f32>(self.engine.tile_len(rows))
            + Scratch::bytes::<f32>(self.engine.left_len(rows, k))
            + Scratch::bytes::<f32>(self.engine.right_len(k))
    }

    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, scratch: &mut [u8]) -> Result<(), RunError> {
        let (engine, strip) = (self.engine, self.engine.strip());
        let BatchShape { m, k, n, ref offsets, .. } = self.shape;
        let operands = self.epilogue.operands(io, 2);
        self.epilogue.check(offsets.len() * m, n, &operands);
        let strips = n.div_ceil(strip);
        let matrix =
            ranks::Matrix { m, row_grain: engine.grain(), panels: offsets.len() * strips, panel: strip.min(n), k };
        let (rows, share) = matrix.share(worker);
        let (block_rows, mut scratch) = (engine.rows().min(m), Scratch::new(scratch));
        let tile = scratch.take(engine.tile_len(block_rows));
        let left = scratch.take(engine.left_len(block_rows, k));
        let right = scratch.take(engine.right_len(k));
        for index in share {
            let (product, columns) = (index / strips, columns(strip, index % strips, n));
            self.run_strip(worker, io, &operands, Part { product, rows: rows.clone(), columns }, [tile, left, right])?;
        }
        Ok(())
    }
}

/// Some rows of a strip of columns of one product.
struct Part {
    product: usize,
    rows: Range<usize>,
    columns: Range<usize>,
}

impl BatchedMatMul {
    fn run_strip(
        &self,
        worker: &Worker<'_>,
        io: &Io<'_>,
        operands: &EpilogueOperands<'_>,
        Part { product, rows, columns }: Part,
        [tile, left, right]: [&mut [f32]; 3],
    ) -> Result<(), RunError> {
        let (engine, &BatchShape { m, k, n, a_strides, b_strides, ref offsets }) = (self.engine, &self.shape);
        let [a_offset, b_offset] = offsets[product];
        let a = Rows { data: &io.input::<f32>(0)[a_offset..], rows: m, k, strides: a_strides };
        let b = Rows { data: &io.input::<f32>(1)[b_offset..], rows: n, k, strides: [b_strides[1], b_strides[0]] };
        engine.with_strip(Some(worker), b.part(columns.start, columns.len()), right, |strip| {
            for start in rows.clone().step_by(engine.rows()) {
                let rows = start..(start + engine.rows()).min(rows.end);
                let left = engine.left(Some(worker), a.part(rows.start, rows.len()), left);
                let shape = [rows.len(), columns.len(), k];
                let width = engine.multiply(worker, &left, &strip, shape, self.alpha, tile)?;
                let rows = product * m + rows.start..product * m + rows.end;
                let block = Block { rows, columns: columns.clone() };
                // SAFETY: the blocks of ranks, strips and row blocks are disjoint.
                unsafe {
                    self.epilogue.store(worker, Tile { sums: tile, columns: width }, &block, operands, io.output(0), n)
                };
            }
            Ok(())
        })
    }
}
