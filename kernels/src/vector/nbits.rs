use super::find;
use crate::rt::Worker;
use crate::table::{DEQUANTIZE_I8_F32, QUANTIZE_F32_I8, UNPACK_I8};
use crate::ukr::{dequantize_i8_f32, quantize_f32_i8, unpack_i8};

/// Quantises a row in groups of `group` numbers, with a scale and a sum of codes for each; see [`quantize_f32_i8`].
///
/// # Panics
/// When an operand has another length than the row, or than it has groups, or a group is longer than 128.
pub(crate) fn quantize_groups(
    worker: &Worker<'_>,
    x: &[f32],
    group: usize,
    y: &mut [i8],
    scales: &mut [f32],
    sums: &mut [f32],
) -> bool {
    let (len, groups) = (x.len(), x.len().div_ceil(group));
    assert!(y.len() == len && scales.len() == groups && sums.len() == groups && (1..=128).contains(&group));
    let (scales, sums) = (scales.as_mut_ptr(), sums.as_mut_ptr());
    let args = quantize_f32_i8::Args { x: x.as_ptr(), y: y.as_mut_ptr(), scales, sums, len, group };
    // SAFETY: the assertion makes all operands as long as `Args` wants them.
    find(worker, QUANTIZE_F32_I8, ()).map(|kernel| unsafe { kernel.call(&args) }).is_some()
}

/// Unpacks steps of `step` bytes of codes of 4 or 8 bits; see [`unpack_i8`].
///
/// # Panics
/// When `y` has not as many bytes as `x` has codes, or those are not whole steps.
pub(crate) fn unpack(worker: &Worker<'_>, bits: usize, x: &[u8], step: usize, y: &mut [i8]) -> bool {
    assert!(x.len().is_multiple_of(step) && y.len() == x.len() * (8 / bits));
    let args = unpack_i8::Args { x: x.as_ptr(), y: y.as_mut_ptr(), step, steps: x.len() / step };
    // SAFETY: as above.
    find(worker, UNPACK_I8, bits).map(|kernel| unsafe { kernel.call(&args) }).is_some()
}

/// `y = (float(x) - zero_point) * scale` for rows of 32 columns.
///
/// # Panics
/// When `x` and `y` are not rows, or there are not as many scales or zero points as columns.
pub(crate) fn dequantize(
    worker: &Worker<'_>,
    x: &[i8],
    scales: &[f32],
    zero_points: Option<&[f32]>,
    y: &mut [f32],
) -> bool {
    let rows = x.len() / 32;
    assert!(x.len() == rows * 32 && y.len() == x.len() && scales.len() == 32);
    let zero_points = zero_points.map_or(std::ptr::null(), |zero_points| {
        assert_eq!(zero_points.len(), 32);
        zero_points.as_ptr()
    });
    let args = dequantize_i8_f32::Args { x: x.as_ptr(), y: y.as_mut_ptr(), scales: scales.as_ptr(), zero_points, rows };
    // SAFETY: as above.
    find(worker, DEQUANTIZE_I8_F32, ()).map(|kernel| unsafe { kernel.call(&args) }).is_some()
}
