use std::fmt;

use super::linear::GRAIN;
use super::{Groups, Quantized};
use crate::driver::{Driver, RunError};
use crate::rt::Worker;
use crate::tape::Io;
use crate::tensor::DType;

/// `y = (x - zero_point) * scale`.
///
/// Inputs: `x` (u8, i8, u16, i16 or i32), the scales (f32), the zero points (type of `x`) where there are any. Output: `y`
/// (f32).
pub struct DequantizeLinear {
    groups: Groups,
    from: DType,
    zero_points: bool,
}

impl DequantizeLinear {
    pub fn new(groups: Groups, from: DType, zero_points: bool) -> Self {
        Self { groups, from, zero_points }
    }

    fn run_as<T: Quantized>(&self, worker: &Worker<'_>, io: &Io<'_>) {
        let share = worker.share(self.groups.len(), GRAIN);
        let (x, scales) = (io.input::<T>(0), io.input::<f32>(1));
        let zero_points = if self.zero_points { io.input::<T>(2) } else { &[] };
        // SAFETY: shares of ranks are disjoint.
        let y = unsafe { io.output::<f32>(0).range(share.clone()) };
        self.groups.runs(share.clone(), |first, len, scale, step| {
            let (x, y) = (&x[first..first + len], &mut y[first - share.start..][..len]);
            let zero_point = |index: usize| zero_points.get(index).map_or(0, |zero_point| zero_point.to_i32());
            if step == 0 {
                let (scale, zero_point) = (scales[scale], zero_point(scale));
                x.iter().zip(y).for_each(|(x, y)| *y = dequantize(*x, scale, zero_point));
            } else {
                for (index, (x, y)) in x.iter().zip(y).enumerate() {
                    *y = dequantize(*x, scales[scale + index], zero_point(scale + index));
                }
            }
        });
    }
}

fn dequantize<T: Quantized>(x: T, scale: f32, zero_point: i32) -> f32 {
    x.to_i32().wrapping_sub(zero_point) as f32 * scale
}

impl fmt::Display for DequantizeLinear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "dequantize {} from {}", self.groups, self.from)
    }
}

impl Driver for DequantizeLinear {
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        match self.from {
            DType::U8 => self.run_as::<u8>(worker, io),
            DType::I8 => self.run_as::<i8>(worker, io),
            DType::U16 => self.run_as::<u16>(worker, io),
            DType::I16 => self.run_as::<i16>(worker, io),
            DType::I32 => self.run_as::<i32>(worker, io),
            other => return Err(RunError::Data(format!("dequantisation from {other} does not exist"))),
        }
        Ok(())
    }
}
