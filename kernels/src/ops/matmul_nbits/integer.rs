//! The products of rows that are quantised to int8 with the columns of a panel.

use crate::host::{self, vectorised};
use crate::pack::{Int8Rows, NBITS_PANEL, NBitsPanel};

/// `tile[row, ..16] = a[row] x panel`; `tile` has rows of `columns` numbers.
pub(super) fn multiply(panel: NBitsPanel<'_>, a: &Int8Rows<'_>, tile: &mut [f32], columns: usize) {
    if host::nbits_int8(panel, a, tile, columns) {
        return;
    }
    for (row, tile) in tile.chunks_mut(columns).take(a.rows).enumerate() {
        vectorised(|| tile[..NBITS_PANEL].copy_from_slice(&multiply_row(panel, a, row)));
    }
}

#[inline(always)]
fn multiply_row(panel: NBitsPanel<'_>, a: &Int8Rows<'_>, row: usize) -> [f32; NBITS_PANEL] {
    let shape = panel.shape;
    let (bits, planes) = (shape.bits(), shape.codes() / 4);
    let mask = (1u32 << bits) - 1;
    let mut sums = [0f32; NBITS_PANEL];
    for group in 0..shape.groups() {
        let mut products = [0i32; NBITS_PANEL];
        for (word, a) in panel.words(group).iter().zip(a.group(row, group).chunks_exact(planes)) {
            for (plane, a) in a.iter().enumerate() {
                for (byte, &a) in a.iter().enumerate() {
                    let shift = 8 * byte + bits * plane;
                    for (product, word) in products.iter_mut().zip(word) {
                        *product += (word >> shift & mask) as i32 * i32::from(a);
                    }
                }
            }
        }
        let (scale, sum) = a.scale_and_sum(row, group);
        let (scales, zero_points) = (panel.scales(group), panel.zero_points(group));
        for column in 0..NBITS_PANEL {
            sums[column] += (products[column] as f32 - zero_points[column] * sum) * (scales[column] * scale);
        }
    }
    sums
}
