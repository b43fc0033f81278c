use half::f16;

use super::{Rows, find};
use crate::rt::Worker;
use crate::table::{DEQUANTIZE_NBITS_F16, INTERLEAVE_F32_F16, PACK_F32_F16, TILE_F16};
use crate::ukr::tile_f16::{self, TilesOf};
use crate::ukr::{dequantize_nbits_f16, interleave_f32_f16, pack_f32_f16};

/// The power of two that brings `largest` between 2^14 and 2^15, as far as there is one; 1 if it is not finite.
pub(crate) fn power_of_two(largest: f32) -> f32 {
    match largest.to_bits() >> 23 & 0xff {
        0xff => 1.0,
        exponent => f32::from_bits((2 * 127 + 14 - exponent).min(254) << 23),
    }
}

/// Some groups of a panel of 32 columns, with `bits` for a code: their bytes, scales and zero points.
#[derive(Clone, Copy)]
pub(crate) struct Groups<'a> {
    pub bits: usize,
    pub codes: &'a [u8],
    pub scales: &'a [f32],
    pub zero_points: Option<&'a [f32]>,
}

impl Groups<'_> {
    /// Bytes of 16 rows, or of 32 with two codes in a byte.
    const STEP: usize = 16 * 32;

    /// Writes them in f16; see [`dequantize_nbits_f16`].
    ///
    /// # Panics
    /// When the lengths do not belong together.
    pub fn dequantize(self, worker: &Worker<'_>, factor: f32, y: &mut [f16]) -> bool {
        let Self { bits, codes, scales, zero_points } = self;
        let (groups, steps) = (scales.len() / 32, codes.len() / Self::STEP);
        assert!(groups > 0 && scales.len() == groups * 32 && codes.len() == steps * Self::STEP);
        assert!(steps > 0 && steps.is_multiple_of(groups) && y.len() == codes.len() * (8 / bits));
        assert!(zero_points.is_none_or(|zero_points| zero_points.len() == scales.len()));
        let args = dequantize_nbits_f16::Args {
            x: codes.as_ptr(),
            y: y.as_mut_ptr(),
            scales: scales.as_ptr(),
            zero_points: zero_points.map_or(std::ptr::null(), <[f32]>::as_ptr),
            factor,
            groups,
            steps: steps / groups,
        };
        // SAFETY: the assertions make the operands as long as `Args` wants them.
        find(worker, DEQUANTIZE_NBITS_F16, bits).map(|kernel| unsafe { kernel.call(&args) }).is_some()
    }
}

/// Eight rows of `k` numbers, `stride` apart, times `factors` in f16, in groups that are `y_stride` numbers apart; see
/// [`pack_f32_f16`].
///
/// # Panics
/// When an operand is too short.
pub(crate) fn pack_halves(
    worker: &Worker<'_>,
    (x, stride, k): (&[f32], usize, usize),
    factors: &[f32; 8],
    y: &mut [f16],
    y_stride: usize,
) -> bool {
    assert!(k > 0 && x.len() >= 7 * stride + k && y.len() >= (k.div_ceil(8) - 1) * y_stride + 64);
    let args = pack_f32_f16::Args {
        x: x.as_ptr(),
        x_stride: stride * size_of::<f32>(),
        factors: factors.as_ptr(),
        y: y.as_mut_ptr(),
        y_stride: y_stride * size_of::<f16>(),
        k,
    };
    // SAFETY: the assertion makes the operands as long as `Args` wants them.
    find(worker, PACK_F32_F16, ()).map(|kernel| unsafe { kernel.call(&args) }).is_some()
}

/// The 64 columns of eight rows from this one on as tiles, those of rows, or pairs of those of columns, `y_stride` numbers apart; see
/// [`tile_f16`].
///
/// # Panics
/// When an operand is too short.
pub(crate) fn tile(
    worker: &Worker<'_>,
    of: TilesOf,
    (x, column): (Rows<'_, f16>, usize),
    y: &mut [f16],
    y_stride: usize,
) -> bool {
    let (steps, last) = if of == TilesOf::Rows { (7, 64) } else { (3, 128) };
    assert!(x.data.len() >= 7 * x.stride + column + 64 && y.len() >= steps * y_stride + last);
    let args = tile_f16::Args {
        x: x.data[column..].as_ptr(),
        x_stride: x.stride * size_of::<f16>(),
        y: y.as_mut_ptr(),
        y_stride: y_stride * size_of::<f16>(),
    };
    // SAFETY: the assertion makes the operands as long as `Args` wants them.
    find(worker, TILE_F16, of).map(|kernel| unsafe { kernel.call(&args) }).is_some()
}

/// Rows of 32 numbers in f16, eight numbers of a column side by side; see [`interleave_f32_f16`].
///
/// # Panics
/// When the lengths differ, or are not of a multiple of eight rows.
pub(crate) fn interleave(worker: &Worker<'_>, x: &[f32], y: &mut [f16]) -> bool {
    assert!(x.len() == y.len() && x.len().is_multiple_of(8 * 32));
    let args = interleave_f32_f16::Args { x: x.as_ptr(), y: y.as_mut_ptr(), groups: x.len() / (8 * 32) };
    // SAFETY: the assertion makes the operands as long as `Args` wants them.
    find(worker, INTERLEAVE_F32_F16, ()).map(|kernel| unsafe { kernel.call(&args) }).is_some()
}
