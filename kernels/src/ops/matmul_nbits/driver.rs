use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::{float, integer};
use crate::driver::{Driver, RunError};
use crate::host::{self, F32Panel};
use crate::mem::Scratch;
use crate::ops::epilogue::{Block, Epilogue, EpilogueOperands, Tile};
use crate::ops::ranks;
use crate::pack::{Int8Rows, NBITS_PANEL, NBitsPanel, NBitsShape, NBitsWeights};
use crate::rt::Worker;
use crate::tape::{Io, SharedOut};

/// What the products of an [`MatMulNBits`] are computed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compute {
    /// Everything in f32.
    F32,
    /// `A` is rounded to int8 first, with a scale for each 32 neighbours of a row, or 16 where a block of the weight has no
    /// more: an element of `A` is off by at most 1/254 of the largest of its neighbours. The products are exact.
    Int8,
}

/// `Y[m, n] = epilogue(A[m, k] x B[k, n])` with constant `B` of 2, 4 or 8 bits.
///
/// Inputs: `A` (f32, row-major), then the bias and the residual where the epilogue has them. Output: `Y` (f32, row-major).
pub struct MatMulNBits {
    m: usize,
    compute: Compute,
    weights: Arc<NBitsWeights>,
    epilogue: Epilogue,
}

/// Columns of a tile: four panels.
const STRIP: usize = 4 * NBITS_PANEL;
/// Rows of a block, which stays in the first cache beside a panel.
const INT8_ROWS: usize = 32;
/// Rows up to which unpacking a panel again for every few rows beats writing it out in f32 once.
const FEW_ROWS: usize = 12;
/// Rows of `A` that one unpacked strip is multiplied with at once.
const MANY_ROWS: usize = 132;

impl MatMulNBits {
    pub fn new(m: usize, compute: Compute, weights: Arc<NBitsWeights>, epilogue: Epilogue) -> Self {
        Self { m, compute, weights, epilogue }
    }

    /// Rows of a block.
    fn rows(&self) -> usize {
        let most = match self.compute {
            Compute::Int8 => INT8_ROWS,
            Compute::F32 if self.unpacks() => MANY_ROWS,
            Compute::F32 => FEW_ROWS,
        };
        most.min(self.m)
    }

    /// Whether strips are written out in f32.
    fn unpacks(&self) -> bool {
        self.compute == Compute::F32 && self.m > FEW_ROWS
    }

    /// Bytes for the rows of `A` in a block, or for an unpacked strip.
    fn left_scratch(&self) -> usize {
        let shape = self.weights.shape();
        match self.compute {
            Compute::Int8 => Int8Rows::scratch(shape, self.rows()),
            Compute::F32 if self.unpacks() => Scratch::bytes::<f32>(shape.depth() * STRIP),
            Compute::F32 => Scratch::bytes::<f32>(self.rows() * shape.depth()),
        }
    }

    /// Ranks share the columns; rows only where unpacking is not paid for each of them.
    fn share(&self, worker: &Worker<'_>) -> (Range<usize>, Range<usize>) {
        let shape = self.weights.shape();
        let row_grain = match self.compute {
            Compute::Int8 => INT8_ROWS,
            Compute::F32 => self.m.max(1),
        };
        ranks::Matrix { m: self.m, row_grain, panels: shape.panels(), panel: NBITS_PANEL.min(shape.n()), k: shape.k() }
            .share(worker)
    }
}

impl fmt::Display for MatMulNBits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let compute = if self.compute == Compute::Int8 { "int8" } else { "f32" };
        write!(f, "matmul_nbits m={} {} in {compute}{}", self.m, self.weights.shape(), self.epilogue)
    }
}

impl Driver for MatMulNBits {
    fn scratch(&self) -> usize {
        Scratch::bytes::<u8>(self.left_scratch()) + Scratch::bytes::<f32>(self.rows() * STRIP)
    }

    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, scratch: &mut [u8]) -> Result<(), RunError> {
        let (rows, panels) = self.share(worker);
        if rows.is_empty() || panels.is_empty() {
            return Ok(());
        }
        let k = self.weights.shape().k();
        let a = &io.input::<f32>(0)[rows.start * k..rows.end * k];
        let operands = self.epilogue.operands(io, 1);
        self.epilogue.check(self.m, self.weights.shape().n(), &operands);
        let part = Part { rows, panels, a, operands, out: io.output(0) };
        let mut scratch = Scratch::new(scratch);
        let tile = scratch.take(self.rows() * STRIP);
        if self.unpacks() { self.run_unpacked(&part, tile, scratch) } else { self.run_packed(&part, tile, scratch) }
    }
}

/// What one rank does.
struct Part<'a> {
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
        let shape = self.weights.shape();
        let bytes: &mut [u8] = scratch.take(self.left_scratch());
        for rows in chunks(part.rows.clone(), self.rows()) {
            let a = &part.a[(rows.start - part.rows.start) * shape.k()..][..rows.len() * shape.k()];
            let left = Left::prepare(self.compute, shape, a, &mut Scratch::new(bytes));
            for strip in chunks(part.panels.clone(), STRIP / NBITS_PANEL) {
                for panel in strip.clone() {
                    let tile = &mut tile[(panel - strip.start) * NBITS_PANEL..];
                    left.multiply(self.weights.panel(panel)?, tile);
                }
                self.store(part, Tile { sums: tile, columns: STRIP }, rows.clone(), strip);
            }
        }
        Ok(())
    }

    /// Multiplies with one strip after the other in f32.
    fn run_unpacked(&self, part: &Part<'_>, tile: &mut [f32], mut scratch: Scratch<'_>) -> Result<(), RunError> {
        let shape = self.weights.shape();
        let a = host::matrix(part.a, [part.rows.len(), shape.k()], [shape.k(), 1]);
        let b: &mut [f32] = scratch.take(shape.depth() * STRIP);
        for strip in chunks(part.panels.clone(), STRIP / NBITS_PANEL) {
            for panel in strip.clone() {
                float::dequantize(self.weights.panel(panel)?, &mut b[(panel - strip.start) * NBITS_PANEL..], STRIP);
            }
            let columns = self.columns(&strip).len();
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

    /// Columns of neighbouring panels.
    fn columns(&self, strip: &Range<usize>) -> Range<usize> {
        strip.start * NBITS_PANEL..(strip.end * NBITS_PANEL).min(self.weights.shape().n())
    }

    fn store(&self, part: &Part<'_>, sums: Tile<'_>, rows: Range<usize>, strip: Range<usize>) {
        let block = Block { rows, columns: self.columns(&strip) };
        // SAFETY: the blocks of ranks, rows and strips are disjoint.
        unsafe { self.epilogue.store(sums, &block, &part.operands, part.out, self.weights.shape().n()) }
    }
}

/// `range` in pieces of `len`, the last of what is left.
fn chunks(range: Range<usize>, len: usize) -> impl Iterator<Item = Range<usize>> {
    range.clone().step_by(len).map(move |start| start..(start + len).min(range.end))
}

/// Rows of `A` as the panels are multiplied with them.
enum Left<'a> {
    /// Filled up to the depth of the weight with zeros.
    F32(&'a [f32]),
    Int8(Int8Rows<'a>),
}

impl<'a> Left<'a> {
    fn prepare(compute: Compute, shape: &NBitsShape, a: &[f32], scratch: &mut Scratch<'a>) -> Self {
        if compute == Compute::Int8 {
            return Self::Int8(Int8Rows::quantize(shape, a, scratch));
        }
        let (k, depth) = (shape.k(), shape.depth());
        let rows: &mut [f32] = scratch.take(a.len() / k * depth);
        for (row, a) in rows.chunks_mut(depth).zip(a.chunks(k)) {
            row[..k].copy_from_slice(a);
            row[k..].fill(0.0);
        }
        Self::F32(rows)
    }

    /// `tile = rows x panel`; `tile` has rows of [`STRIP`] numbers.
    fn multiply(&self, panel: NBitsPanel<'_>, tile: &mut [f32]) {
        match self {
            Self::F32(rows) => float::multiply(panel, rows, tile, STRIP),
            Self::Int8(rows) => integer::multiply(panel, rows, tile, STRIP),
        }
    }
}
