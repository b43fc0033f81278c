use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::ConvShape;
use super::engine::{Buffers, Engine};
use super::filters::{Filters, Group};
use crate::driver::{Driver, RunError};
use crate::isa::Target;
use crate::ops::epilogue::{Block, Epilogue, Tile};
use crate::ops::ranks;
use crate::rt::Worker;
use crate::tape::Io;

/// Where the filters come from.
#[derive(Clone)]
pub enum FilterSource {
    Constant(Arc<Filters>),
    /// An operand of the step, `[groups, filters, depth]`.
    Operand,
}

impl FilterSource {
    /// Operands that the filters take.
    pub(super) fn operands(&self) -> usize {
        usize::from(matches!(self, Self::Operand))
    }

    /// Group `index`, of `len` elements; the operand is input 1 of the step.
    pub(super) fn group<'a>(&'a self, index: usize, len: usize, io: &Io<'a>) -> Result<Group<'a>, RunError> {
        match self {
            Self::Constant(filters) => filters.group(index),
            Self::Operand => Ok(Group::Rows(&io.input(1)[index * len..][..len])),
        }
    }
}

/// `Y = epilogue(conv(X, W) + bias)` in f32.
///
/// Inputs: the image `[batch, groups * channels, spatial..]`, the filters where they are an operand, the bias
/// `[groups * filters]` where there is one, and the residual where the epilogue has one, which sees the output as a matrix
/// of one row for each channel of each image. The epilogue itself has no bias. Output: `[batch, groups * filters, ..]`.
pub struct Conv {
    shape: ConvShape,
    filters: FilterSource,
    bias: bool,
    epilogue: Epilogue,
    engine: Engine,
}

impl Conv {
    pub fn new(target: &Target, shape: ConvShape, filters: FilterSource, bias: bool, epilogue: Epilogue) -> Self {
        Self { shape, filters, bias, epilogue, engine: Engine::new(target) }
    }
}

impl fmt::Display for Conv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bias = if self.bias { " bias" } else { "" };
        write!(f, "conv {}{bias}{} by {}", self.shape, self.epilogue, self.engine.name())
    }
}

impl Driver for Conv {
    fn scratch(&self) -> usize {
        self.engine.scratch(self.block(), self.shape.depth())
    }

    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, scratch: &mut [u8]) -> Result<(), RunError> {
        let ConvShape { batch, groups, filters, window, .. } = self.shape;
        let (depth, positions, strip) = (self.shape.depth(), window.positions(), self.engine.strip());
        let strips = positions.div_ceil(strip);
        let matrix = ranks::Matrix {
            m: filters,
            row_grain: self.engine.rows(),
            panels: batch * groups * strips,
            panel: strip.min(positions),
            k: depth,
        };
        let (rows, share) = matrix.share(worker);
        let mut buffers = self.engine.buffers(scratch, self.block(), depth);
        for index in share {
            let first = index % strips * strip;
            let part =
                Part { product: index / strips, rows: rows.clone(), positions: first..(first + strip).min(positions) };
            self.run_strip(worker, &part, io, &mut buffers)?;
        }
        Ok(())
    }
}

/// Some filters of one group at a strip of positions of one image; `product` counts the groups of all images.
struct Part {
    product: usize,
    rows: Range<usize>,
    positions: Range<usize>,
}

impl Conv {
    /// Filters that are multiplied with a strip at a time.
    fn block(&self) -> usize {
        self.engine.rows().min(self.shape.filters)
    }

    fn run_strip(
        &self,
        worker: &Worker<'_>,
        part: &Part,
        io: &Io<'_>,
        buffers: &mut Buffers<'_>,
    ) -> Result<(), RunError> {
        let ConvShape { groups, channels, filters, window, .. } = &self.shape;
        let (group, n, depth) = (part.product % groups, window.positions(), self.shape.depth());
        let packed = self.filters.group(group, filters * depth, io)?;
        let biases = if self.bias { io.input::<f32>(1 + self.filters.operands()) } else { &[] };
        let operands = self.epilogue.operands(io, 1 + self.filters.operands() + usize::from(self.bias));
        self.epilogue.check(self.shape.planes(), n, &operands);
        let image = &io.input::<f32>(0)[part.product * channels * window.inputs()..][..channels * window.inputs()];
        let block = self.engine.rows();
        self.engine.with_strip(image, window, part.positions.clone(), depth, buffers, |strip, packed_rows, tile| {
            for start in part.rows.clone().step_by(block) {
                let rows = start..(start + block).min(part.rows.end);
                let sizes = [part.positions.len(), depth];
                let width = self.engine.multiply(worker, packed, rows.clone(), strip, sizes, [packed_rows, tile])?;
                if self.bias {
                    let biases = &biases[group * filters + rows.start..][..rows.len()];
                    for (line, bias) in tile.chunks_exact_mut(width).zip(biases) {
                        line.iter_mut().for_each(|sum| *sum += bias);
                    }
                }
                let first = part.product * filters;
                let block = Block { rows: first + rows.start..first + rows.end, columns: part.positions.clone() };
                // SAFETY: the blocks of ranks, strips and row blocks are disjoint.
                unsafe {
                    self.epilogue.store(worker, Tile { sums: tile, columns: width }, &block, &operands, io.output(0), n)
                };
            }
            Ok(())
        })
    }
}
