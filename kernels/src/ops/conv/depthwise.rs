use std::fmt;

use super::ConvShape;
use crate::driver::{Driver, RunError};
use crate::host::vectorised;
use crate::ops::epilogue::{Block, Epilogue, EpilogueOperands, Tile};
use crate::ops::width::grain;
use crate::ops::window::Window;
use crate::rt::Worker;
use crate::tape::Io;

/// A convolution whose groups have one channel each, in f32: every filter sees one plane of the image.
///
/// Inputs: the image `[batch, groups, spatial..]`, the filters `[groups * filters, taps]`, the bias `[groups * filters]` where
/// there is one, and the residual where the epilogue has one, as for [`super::Conv`]. Output:
/// `[batch, groups * filters, ..]`.
pub struct DepthwiseConv {
    shape: ConvShape,
    bias: bool,
    epilogue: Epilogue,
}

impl DepthwiseConv {
    /// # Panics
    /// When a group has another number of channels than one.
    pub fn new(shape: ConvShape, bias: bool, epilogue: Epilogue) -> Self {
        assert_eq!(shape.channels, 1, "channels of a group");
        Self { shape, bias, epilogue }
    }

    /// Sums of one line of the output: `line += filter * what it sees` of one plane of the image.
    #[inline(always)]
    fn sum_line(&self, at: [usize; 3], plane: &[f32], filter: &[f32], line: &mut [f32]) {
        let window = &self.shape.window;
        let stride = window.axes[2].stride;
        window.taps_of_line(at, |tap, positions, from| {
            let (weight, sums, seen) = (filter[tap], &mut line[positions], &plane[from..]);
            if stride == 1 {
                sums.iter_mut().zip(seen).for_each(|(sum, x)| *sum += weight * x);
            } else {
                sums.iter_mut().zip(seen.iter().step_by(stride)).for_each(|(sum, x)| *sum += weight * x);
            }
        });
    }
}

impl fmt::Display for DepthwiseConv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "depthwise_conv {}{}{}", self.shape, if self.bias { " bias" } else { "" }, self.epilogue)
    }
}

impl Driver for DepthwiseConv {
    fn scratch(&self) -> usize {
        self.shape.window.output()[2] * size_of::<f32>()
    }

    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, scratch: &mut [u8]) -> Result<(), RunError> {
        let ConvShape { groups, filters, window, .. } = self.shape;
        let (planes, n, taps, inputs) = (self.shape.planes(), window.positions(), window.taps(), window.inputs());
        let [depth, height, width] = window.output();
        let lines = depth * height;
        let line: &mut [f32] = bytemuck::cast_slice_mut(scratch);
        let (x, weights) = (io.input::<f32>(0), io.input::<f32>(1));
        let bias = if self.bias { io.input::<f32>(2) } else { &[] };
        let operands: EpilogueOperands<'_> = self.epilogue.operands(io, 2 + usize::from(self.bias));
        self.epilogue.check(planes, n, &operands);
        for unit in worker.share(planes * lines, grain(width * taps * size_of::<f32>())) {
            let (plane, first) = (unit / lines, unit % lines * width);
            let filter = plane % (groups * filters);
            line.fill(bias.get(filter).copied().unwrap_or(0.0));
            vectorised(
                #[inline(always)]
                || {
                    let at = Window::split(first, window.output());
                    let image = &x[plane / filters * inputs..][..inputs];
                    self.sum_line(at, image, &weights[filter * taps..][..taps], line);
                },
            );
            let block = Block { rows: plane..plane + 1, columns: first..first + width };
            let sums = Tile { sums: line, columns: width };
            // SAFETY: shares of ranks are disjoint, and each unit is another line of the output.
            unsafe { self.epilogue.store(worker, sums, &block, &operands, io.output(0), n) };
        }
        Ok(())
    }
}
