use std::fmt;

use rten_simd::ops::{BitOps, NumOps};
use rten_simd::{Isa, Simd, SimdOp};

use super::linear::{GRAIN, quantize_run};
use crate::driver::{Driver, RunError};
use crate::rt::Worker;
use crate::tape::Io;
use crate::ukr::reduce_f32::Reduction;
use crate::vector;

/// Smallest and largest element of each chunk of a tensor. NaN is passed over.
///
/// Input: `x` (f32). Output: the extremes of the chunks (f32, `[chunks, 2]`).
pub struct MinMax {
    len: usize,
}

impl MinMax {
    pub fn new(len: usize) -> Self {
        Self { len }
    }

    /// Elements of the output for `len` elements: two for each chunk.
    pub fn extremes(len: usize) -> usize {
        2 * len.div_ceil(GRAIN)
    }
}

impl fmt::Display for MinMax {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "min_max n={}", self.len)
    }
}

impl Driver for MinMax {
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        let x = io.input::<f32>(0);
        let chunks = worker.share(x.len().div_ceil(GRAIN), 1);
        // SAFETY: shares of ranks are disjoint.
        let extremes = unsafe { io.output::<f32>(0).range(2 * chunks.start..2 * chunks.end) };
        for (chunk, extremes) in chunks.zip(extremes.chunks_exact_mut(2)) {
            let x = &x[chunk * GRAIN..((chunk + 1) * GRAIN).min(x.len())];
            let in_vectors = vector::reduce(worker, Reduction::Extremes, x, 0.0);
            let found = in_vectors.map_or_else(|| Extremes(x).dispatch(), |both| both.map(|extreme| extreme as f32));
            extremes.copy_from_slice(&found);
        }
        Ok(())
    }
}

/// Smallest and largest element; infinities when there is none.
struct Extremes<'a>(&'a [f32]);

/// Vectors that are compared at once, to hide the latency of the comparisons.
const UNROLL: usize = 4;

impl SimdOp for Extremes<'_> {
    type Output = [f32; 2];

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) -> [f32; 2] {
        let ops = isa.f32();
        let mut low = [ops.splat(f32::INFINITY); UNROLL];
        let mut high = [ops.splat(f32::NEG_INFINITY); UNROLL];
        let mut chunks = self.0.chunks_exact(UNROLL * ops.len());
        for chunk in chunks.by_ref() {
            for index in 0..UNROLL {
                let x = ops.load(&chunk[index * ops.len()..]);
                // No comparison selects NaN.
                low[index] = ops.select(x, low[index], ops.lt(x, low[index]));
                high[index] = ops.select(x, high[index], ops.gt(x, high[index]));
            }
        }
        let [mut least, mut greatest] = [f32::INFINITY, f32::NEG_INFINITY];
        for index in 0..UNROLL {
            least = low[index].to_array().as_ref().iter().fold(least, |least, &x| least.min(x));
            greatest = high[index].to_array().as_ref().iter().fold(greatest, |greatest, &x| greatest.max(x));
        }
        let rest = chunks.remainder().iter();
        rest.fold([least, greatest], |[least, greatest], &x| [least.min(x), greatest.max(x)])
    }
}

/// Quantises to u8 with the scale and zero point that span the range of the tensor and 0:
/// `scale = (max - min) / 255`, `zero_point = round_half_even(clamp(-min / scale, 0, 255))`. An all-zero or empty tensor
/// has scale 1 and zero point 0, as ONNX Runtime does it.
///
/// Inputs: `x` (f32) and what [`MinMax`] made of it. Outputs: `y` (u8), the scale (one f32), the zero point (one u8).
pub struct DynamicQuantize {
    len: usize,
}

impl DynamicQuantize {
    pub fn new(len: usize) -> Self {
        Self { len }
    }
}

/// Scale and zero point of a range, as of [`DynamicQuantize`].
fn parameters(extremes: &[f32]) -> (f32, u8) {
    let (low, high) = extremes.iter().fold((0.0f32, 0.0f32), |(low, high), &x| (low.min(x), high.max(x)));
    let scale = if low == high { 1.0 } else { (high - low) / 255.0 };
    (scale, (-low / scale).clamp(0.0, 255.0).round_ties_even() as u8)
}

impl fmt::Display for DynamicQuantize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "dynamic_quantize n={}", self.len)
    }
}

impl Driver for DynamicQuantize {
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        let (scale, zero_point) = parameters(io.input::<f32>(1));
        let share = worker.share(self.len, GRAIN);
        // SAFETY: shares of ranks are disjoint.
        let y = unsafe { io.output::<u8>(0).range(share.clone()) };
        quantize_run(worker, &io.input::<f32>(0)[share], y, scale, i32::from(zero_point));
        if worker.rank() == 0 {
            // SAFETY: only rank 0 writes the scale and the zero point.
            unsafe {
                io.output::<f32>(1).range(0..1)[0] = scale;
                io.output::<u8>(2).range(0..1)[0] = zero_point;
            }
        }
        Ok(())
    }
}
