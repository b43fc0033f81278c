use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::engine::Engine;
use super::float;
use super::left::{Left, STRIP, chunks};
use crate::driver::{Driver, RunError};
use crate::host::{self, F32Panel};
use crate::mem::Scratch;
use crate::ops::epilogue::{Block, Epilogue, EpilogueOperands, Tile};
use crate::pack::{NBITS_PANEL, NBitsWeights};
use crate::rt::Worker;
use crate::tape::{Io, SharedOut};

/// `Y[m, n] = epilogue(A[m, k] x B[k, n])` with constant `B` of 2, 4 or 8 bits.
///
/// Inputs: `A` (f32, row-major), then the bias and the residual where the epilogue has them. Output: `Y` (f32, row-major).
pub struct MatMulNBits {
    m: usize,
    engine: Engine,
    weights: Arc<NBitsWeights>,
    epilogue: Epilogue,
}

/// Rows of `A` that an unpacked strip is multiplied with at once.
const MANY_ROWS: usize = 132;

impl MatMulNBits {
    /// `weights` are to be in the engine's layout.
    pub fn new(m: usize, engine: Engine, weights: Arc<NBitsWeights>, epilogue: Epilogue) -> Self {
        Self { m, engine, weights, epilogue }
    }

    fn unpacks(&self) -> bool {
        self.engine.unpacks(self.m)
    }

    /// Rows of a block.
    fn rows(&self) -> usize {
        match self.unpacks() {
            true => MANY_ROWS.min(self.m),
            false => self.engine.block_rows(self.m, self.weights.shape(), 1),
        }
    }
}

impl fmt::Display for MatMulNBits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "matmul_nbits m={} {} in {}{}",
            self.m,
            self.weights.shape(),
            self.engine.method(self.m),
            self.epilogue
        )
    }
}

impl Driver for MatMulNBits {
    fn scratch(&self) -> usize {
        let shape = self.weights.shape();
        let left = match self.unpacks() {
            true => Scratch::bytes::<f32>(shape.depth() * STRIP),
            false => Scratch::bytes::<u8>(Left::scratch(self.engine, shape, self.rows())),
        };
        left + Scratch::bytes::<f32>(self.rows() * self.engine.strip(self.m))
    }

    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, scratch: &mut [u8]) -> Result<(), RunError> {
        let shape = self.weights.shape();
        let (rows, panels) = self.engine.share(worker, self.m, shape);
        if rows.is_empty() || panels.is_empty() {
            return Ok(());
        }
        let a = &io.input::<f32>(0)[rows.start * shape.k()..rows.end * shape.k()];
        let operands = self.epilogue.operands(io, 1);
        self.epilogue.check(self.m, shape.n(), &operands);
        let part = Part { worker, rows, panels, a, operands, out: io.output(0) };
        let mut scratch = Scratch::new(scratch);
        let tile = scratch.take(self.rows() * self.engine.strip(self.m));
        if self.unpacks() { self.run_unpacked(&part, tile, scratch) } else { self.run_packed(&part, tile, scratch) }
    }
}

/// What one rank does.
struct Part<'a> {
    worker: &'a Worker<'a>,
    rows: Range<usize>,
    panels: Range<usize>,
    /// These rows.
    a: &'a [f32],
    operands: EpilogueOperands<'a>,
    out: SharedOut<'a, f32>,
}

impl MatMulNBits {
    /// Multiplies with the panels as they are.
    fn run_packed(&self, part: &Part<'_>, tile: &mut [f32], mut scratch: Scratch<'_>) -> Result<(), RunError> {
        let (shape, columns) = (self.weights.shape(), self.engine.strip(self.m));
        let bytes: &mut [u8] = scratch.take(Left::scratch(self.engine, shape, self.rows()));
        for rows in chunks(part.rows.clone(), self.rows()) {
            let a = &part.a[(rows.start - part.rows.start) * shape.k()..][..rows.len() * shape.k()];
            let mut left = Left::prepare(part.worker, (self.engine, self.m), shape, a, bytes);
            for strip in chunks(part.panels.clone(), columns / self.engine.layout().panel()) {
                left.multiply(part.worker, &self.weights, strip.clone(), tile)?;
                self.store(part, Tile { sums: tile, columns }, rows.clone(), strip);
            }
        }
        Ok(())
    }

    /// Multiplies with one strip after the other in f32.
    fn run_unpacked(&self, part: &Part<'_>, tile: &mut [f32], mut scratch: Scratch<'_>) -> Result<(), RunError> {
        let shape = self.weights.shape();
        let a = host::matrix(part.a, [part.rows.len(), shape.k()], [shape.k(), 1]);
        let b: &mut [f32] = scratch.take(shape.depth() * STRIP);
        for strip in chunks(part.panels.clone(), self.engine.strip_panels()) {
            for panel in strip.clone() {
                float::dequantize(self.weights.panel(panel)?, &mut b[(panel - strip.start) * NBITS_PANEL..], STRIP);
            }
            let columns = self.engine.columns(shape, &strip).len();
            let packed = F32Panel::pack_again(host::matrix(b, [shape.k(), columns], [STRIP, 1]));
            for rows in chunks(0..part.rows.len(), MANY_ROWS) {
                let sums = &mut tile[..rows.len() * columns];
                packed.multiply(a.slice((rows.clone(), ..)), 1.0, sums)?;
                let rows = part.rows.start + rows.start..part.rows.start + rows.end;
                self.store(part, Tile { sums, columns }, rows, strip.clone());
            }
            packed.give_back();
        }
        Ok(())
    }

    fn store(&self, part: &Part<'_>, sums: Tile<'_>, rows: Range<usize>, strip: Range<usize>) {
        let shape = self.weights.shape();
        let block = Block { rows, columns: self.engine.columns(shape, &strip) };
        // SAFETY: the blocks of ranks, rows and strips are disjoint.
        unsafe { self.epilogue.store(part.worker, sums, &block, &part.operands, part.out, shape.n()) }
    }
}
