use std::fmt;

use super::engine::{Buffers, Engine};
use super::float::FilterSource;
use super::{ConvShape, columns};
use crate::driver::{Driver, RunError};
use crate::isa::Target;
use crate::ops::window::{Window, WindowAxis};
use crate::rt::Worker;
use crate::tape::Io;

/// `Y = W^T x X + bias`, the adjoint of a convolution, in f32: each element of X adds its filter to the window of Y at its
/// position. `shape.window` slides over Y, and its positions are the elements of X; `shape.channels` are those of X.
///
/// Inputs: X `[batch, groups * channels, positions..]`, the filters `[groups, filters * taps, channels]` where they are an
/// operand, the bias `[groups * filters]` where there is one. Output: Y `[batch, groups * filters, spatial..]`.
pub struct ConvTranspose {
    shape: ConvShape,
    filters: FilterSource,
    bias: bool,
    engine: Engine,
}

impl ConvTranspose {
    pub fn new(target: &Target, shape: ConvShape, filters: FilterSource, bias: bool) -> Self {
        Self { shape, filters, bias, engine: Engine::new(target) }
    }

    /// Filters that a unit of work takes.
    fn block(&self) -> usize {
        self.engine.filters(self.shape.window.taps()).min(self.shape.filters)
    }

    /// One block of filters over one group of one image; `unit` counts the blocks of all.
    fn run_block(
        &self,
        worker: &Worker<'_>,
        unit: usize,
        io: &Io<'_>,
        buffers: &mut Buffers<'_>,
    ) -> Result<(), RunError> {
        let ConvShape { groups, channels, filters, window, .. } = self.shape;
        let (taps, positions, outputs) = (window.taps(), window.positions(), window.inputs());
        let blocks = filters.div_ceil(self.block());
        let (product, first) = (unit / blocks, unit % blocks * self.block());
        let (group, last) = (product % groups, (first + self.block()).min(filters));
        let planes = product * filters + first..product * filters + last;
        // SAFETY: shares of ranks are disjoint, and each unit has its own planes of the output.
        let y = unsafe { io.output::<f32>(0).range(planes.start * outputs..planes.end * outputs) };
        let bias = if self.bias { io.input::<f32>(1 + self.filters.operands()) } else { &[] };
        for (plane, filter) in y.chunks_exact_mut(outputs.max(1)).zip(group * filters + first..) {
            plane.fill(bias.get(filter).copied().unwrap_or(0.0));
        }
        let weights = self.filters.group(group, filters * taps * channels, io)?;
        let x = &io.input::<f32>(0)[product * channels * positions..][..channels * positions];
        let matrix = WindowAxis { input: positions, kernel: 1, output: positions, stride: 1, dilation: 1, pad: 0 };
        let rows = first * taps..last * taps;
        for start in (0..positions).step_by(self.engine.strip()) {
            let part = start..(start + self.engine.strip()).min(positions);
            let sizes = [part.len(), channels];
            let seen = Window::new(&[matrix]);
            self.engine.with_strip(x, &seen, part.clone(), channels, buffers, |strip, packed_rows, tile| {
                let width = self.engine.multiply(worker, weights, rows.clone(), strip, sizes, [packed_rows, tile])?;
                columns::scatter(&tile[..rows.len() * width], width, &window, part, y);
                Ok::<_, RunError>(())
            })?;
        }
        Ok(())
    }
}

impl fmt::Display for ConvTranspose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bias = if self.bias { " bias" } else { "" };
        write!(f, "conv_transpose {}{bias} by {}", self.shape, self.engine.name())
    }
}

impl Driver for ConvTranspose {
    fn scratch(&self) -> usize {
        self.engine.scratch(self.block() * self.shape.window.taps(), self.shape.channels)
    }

    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, scratch: &mut [u8]) -> Result<(), RunError> {
        let ConvShape { batch, groups, channels, filters, window } = self.shape;
        let mut buffers = self.engine.buffers(scratch, self.block() * window.taps(), channels);
        let units = batch * groups * filters.div_ceil(self.block().max(1));
        worker.share(units, 1).try_for_each(|unit| self.run_block(worker, unit, io, &mut buffers))
    }
}
