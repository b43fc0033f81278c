use std::fmt;

use rten_simd::ops::{BitOps, FloatOps, NarrowSaturate, NumOps};
use rten_simd::{Isa, SimdOp};

use super::{Groups, Quantized};
use crate::driver::{Driver, RunError};
use crate::rt::Worker;
use crate::tape::Io;
use crate::tensor::DType;
use crate::vector;

/// Elements that are worth another rank.
pub(super) const GRAIN: usize = 1 << 13;

/// `y = saturate(round_half_even(x / scale) + zero_point)`. NaN becomes the smallest value.
///
/// Inputs: `x` (f32), the scales (f32), the zero points (type of `y`) where there are any. Output: `y` (u8, i8, u16 or
/// i16).
pub struct QuantizeLinear {
    groups: Groups,
    to: DType,
    zero_points: bool,
}

impl QuantizeLinear {
    pub fn new(groups: Groups, to: DType, zero_points: bool) -> Self {
        Self { groups, to, zero_points }
    }

    fn run_as<T: Quantized>(&self, worker: &Worker<'_>, io: &Io<'_>) {
        let share = worker.share(self.groups.len(), GRAIN);
        let (x, scales) = (io.input::<f32>(0), io.input::<f32>(1));
        let zero_points = if self.zero_points { io.input::<T>(2) } else { &[] };
        // SAFETY: shares of ranks are disjoint.
        let y = unsafe { io.output::<T>(0).range(share.clone()) };
        self.groups.runs(share.clone(), |first, len, scale, step| {
            let (x, y) = (&x[first..first + len], &mut y[first - share.start..][..len]);
            let zero_point = |index: usize| zero_points.get(index).map_or(0, |zero_point| zero_point.to_i32());
            if step == 0 {
                quantize_run(worker, x, y, scales[scale], zero_point(scale));
            } else {
                for (index, (x, y)) in x.iter().zip(y).enumerate() {
                    *y = quantize(*x, scales[scale + index], zero_point(scale + index));
                }
            }
        });
    }
}

impl fmt::Display for QuantizeLinear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "quantize {} -> {}", self.groups, self.to)
    }
}

impl Driver for QuantizeLinear {
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        match self.to {
            DType::U8 => self.run_as::<u8>(worker, io),
            DType::I8 => self.run_as::<i8>(worker, io),
            DType::U16 => self.run_as::<u16>(worker, io),
            DType::I16 => self.run_as::<i16>(worker, io),
            other => return Err(RunError::Data(format!("quantisation to {other} does not exist"))),
        }
        Ok(())
    }
}

/// One quantised element.
pub(super) fn quantize<T: Quantized>(x: f32, scale: f32, zero_point: i32) -> T {
    let (low, high) = ((T::MIN - zero_point) as f32, (T::MAX - zero_point) as f32);
    let quotient = x / scale;
    // The bounds are whole numbers, so clamping first changes nothing but NaN and what i32 cannot hold.
    let clamped = if quotient > low { quotient.min(high) } else { low };
    T::from_i32(clamped.round_ties_even() as i32 + zero_point)
}

/// Quantises `x` with one scale.
pub(super) fn quantize_run<T: Quantized>(worker: &Worker<'_>, x: &[f32], y: &mut [T], scale: f32, zero_point: i32) {
    if size_of::<T>() == 1 {
        let (y, zero_point, flip) = (bytemuck::cast_slice_mut(y), zero_point - T::MIN, T::MIN as u8);
        if !vector::quantize(worker, x, y, scale, zero_point as u8, flip) {
            Bytes { x, y, scale, zero_point, flip }.dispatch();
        }
    } else {
        x.iter().zip(y).for_each(|(x, y)| *y = quantize(*x, scale, zero_point));
    }
}

/// Quantises to u8 and flips the bits `flip`, which makes 128-based i8 of 0-based u8.
struct Bytes<'a> {
    x: &'a [f32],
    y: &'a mut [u8],
    scale: f32,
    zero_point: i32,
    flip: u8,
}

impl SimdOp for Bytes<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        let (ops, ints) = (isa.f32(), isa.i32());
        let steps = Steps {
            scale: ops.splat(self.scale),
            low: ops.splat(-self.zero_point as f32),
            high: ops.splat((255 - self.zero_point) as f32),
            zero_point: ints.splat(self.zero_point),
        };
        let (lanes, flip) = (ops.len(), isa.u8().splat(self.flip));
        let mut xs = self.x.chunks_exact(4 * lanes);
        let mut ys = self.y.chunks_exact_mut(4 * lanes);
        for (x, y) in xs.by_ref().zip(ys.by_ref()) {
            let first = ints.narrow_saturate(steps.of(isa, x), steps.of(isa, &x[lanes..]));
            let last = ints.narrow_saturate(steps.of(isa, &x[2 * lanes..]), steps.of(isa, &x[3 * lanes..]));
            isa.u8().store(isa.u8().xor(isa.i16().narrow_saturate(first, last), flip), y);
        }
        for (x, y) in xs.remainder().iter().zip(ys.into_remainder()) {
            *y = quantize::<u8>(*x, self.scale, self.zero_point) ^ self.flip;
        }
    }
}

/// The parameters of a quantisation in all lanes.
struct Steps<I: Isa> {
    scale: I::F32,
    low: I::F32,
    high: I::F32,
    zero_point: I::I32,
}

impl<I: Isa> Steps<I> {
    /// Quantises the vector at the start of `x`.
    #[inline(always)]
    fn of(&self, isa: I, x: &[f32]) -> I::I32 {
        let ops = isa.f32();
        let quotient = ops.div(ops.load(x), self.scale);
        let above = ops.select(quotient, self.low, ops.gt(quotient, self.low));
        let clamped = ops.select(self.high, above, ops.gt(above, self.high));
        isa.i32().add(ops.to_int_round(clamped), self.zero_point)
    }
}
