use std::fmt;

use super::Quantized;
use super::linear::{GRAIN, quantize};
use crate::driver::{Driver, RunError};
use crate::rt::Worker;
use crate::tape::Io;

/// `y = saturate(round_half_even(sum * (a_scale * b_scale / y_scale)) + zero_point)` of the sums of an integer product.
///
/// Inputs: the sums (i32, `[.., n, inner]`), the scale of `A` (one f32), the scales of `B` (one or `n` f32), the scale of
/// `y` (one f32), the zero point of `y` (one, type of `y`). Output: `y` (i8 when `signed`, else u8).
pub struct Requantize {
    pub len: usize,
    pub n: usize,
    pub inner: usize,
    pub signed: bool,
}

impl Requantize {
    fn run_as<T: Quantized>(&self, worker: &Worker<'_>, io: &Io<'_>) {
        let share = worker.share(self.len, GRAIN);
        let (a_scale, b_scales, y_scale) = (io.input::<f32>(1)[0], io.input::<f32>(2), io.input::<f32>(3)[0]);
        let zero_point = io.input::<T>(4)[0].to_i32();
        // SAFETY: shares of ranks are disjoint.
        let y = unsafe { io.output::<T>(0).range(share.clone()) };
        for ((index, y), &sum) in share.clone().zip(y).zip(&io.input::<i32>(0)[share]) {
            let b_scale = if b_scales.len() == 1 { b_scales[0] } else { b_scales[index / self.inner % self.n] };
            *y = quantize(sum as f32 * (a_scale * b_scale / y_scale), 1.0, zero_point);
        }
    }
}

impl fmt::Display for Requantize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "requantize n={} -> {}", self.len, if self.signed { "i8" } else { "u8" })
    }
}

impl Driver for Requantize {
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        if self.signed {
            self.run_as::<i8>(worker, io)
        } else {
            self.run_as::<u8>(worker, io)
        }
        Ok(())
    }
}
