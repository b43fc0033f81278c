use std::fmt;

use super::width::grain;
use crate::driver::{Driver, RunError};
use crate::host::vectorised;
use crate::rt::Worker;
use crate::tape::Io;

/// `y = x * scale + shift` with one scale and one shift for each channel, in f32.
///
/// Inputs: x `[outer, channels, inner]`, scale and shift, both `[channels]`. Output: y like x.
pub struct ScaleShift {
    pub outer: usize,
    pub channels: usize,
    pub inner: usize,
}

impl fmt::Display for ScaleShift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "scale_shift {}x{}x{}", self.outer, self.channels, self.inner)
    }
}

impl Driver for ScaleShift {
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        let Self { outer, channels, inner } = *self;
        let share = worker.share(outer * channels, grain(inner * size_of::<f32>()));
        if share.is_empty() || inner == 0 {
            return Ok(());
        }
        let elements = share.start * inner..share.end * inner;
        let (x, scale, shift) = (&io.input::<f32>(0)[elements.clone()], io.input::<f32>(1), io.input::<f32>(2));
        // SAFETY: shares of ranks are disjoint.
        let y = unsafe { io.output::<f32>(0).range(elements) };
        vectorised(
            #[inline(always)]
            || {
                for ((y, x), row) in y.chunks_exact_mut(inner).zip(x.chunks_exact(inner)).zip(share) {
                    let (scale, shift) = (scale[row % channels], shift[row % channels]);
                    y.iter_mut().zip(x).for_each(|(y, x)| *y = x * scale + shift);
                }
            },
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{floats, run_one};

    #[test]
    fn each_channel_has_its_own_numbers() {
        for (outer, channels, inner) in [(1, 1, 1), (2, 3, 5), (3, 7, 1), (2, 4, 9000), (0, 3, 2), (2, 3, 0)] {
            let (x, scale, shift) = (floats(outer * channels * inner, 1), floats(channels, 2), floats(channels, 3));
            let channel = |i: usize| i / inner % channels;
            let expected: Vec<f32> =
                x.iter().enumerate().map(|(i, x)| x * scale[channel(i)] + shift[channel(i)]).collect();
            for ranks in 1..=3 {
                let inputs = [&x, &scale, &shift].map(|x| bytemuck::cast_slice(x));
                let y = run_one::<f32>(ScaleShift { outer, channels, inner }, ranks, &inputs, x.len()).unwrap();
                // Rust rounds the product before the sum, on both sides.
                assert_eq!(y, expected);
            }
        }
    }
}
