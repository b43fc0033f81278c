//! Products of int8 rows with codes of few bits: `rten` has them for one row of symmetric 4-bit weights only, and a loop in
//! portable vectors takes several times as long.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod vnni;

use crate::pack::{Int8Rows, NBitsPanel};

/// Bytes ahead of the words in use: the way of some hundred cycles.
#[cfg(target_arch = "x86_64")]
const PREFETCH: usize = 2048;

/// `tile[row, ..16] = a[row] x panel`, where `tile` has rows of `columns` numbers; `false` when this machine cannot.
#[cfg(target_arch = "x86_64")]
pub(crate) fn nbits_int8(panel: NBitsPanel<'_>, a: &Int8Rows<'_>, tile: &mut [f32], columns: usize) -> bool {
    vnni::nbits_int8(panel, a, tile, columns) || avx2::nbits_int8(panel, a, tile, columns)
}

/// As on x86-64.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn nbits_int8(_: NBitsPanel<'_>, _: &Int8Rows<'_>, _: &mut [f32], _columns: usize) -> bool {
    false
}

#[cfg(test)]
#[cfg(target_arch = "x86_64")]
mod tests {
    use super::*;
    use crate::pack::{Codes, NBITS_PANEL, NBitsLayout, NBitsShape, NBitsWeights};

    type Form = fn(NBitsPanel<'_>, &Int8Rows<'_>, &mut [f32], usize) -> bool;

    /// Scales are powers of two and zero points whole, so that sums are exact in any order.
    fn check(form: Form, shape: NBitsShape, rows: usize) {
        let (bits, k, n, blocks, groups) = (shape.bits(), shape.depth(), shape.n(), shape.blocks(), shape.groups());
        let code = |row: usize, column: usize| (row * 37 + column * 91 + row * column * 3) % (1 << bits);
        let mut bytes = vec![0u8; k * n * bits / 8];
        for index in 0..k * n {
            bytes[index * bits / 8] |= (code(index % k, index / k) << (index * bits % 8)) as u8;
        }
        let scales: Vec<f32> = (0..n * blocks).map(|index| [1.0, -2.0, 0.5][index % 3]).collect();
        let zero_points: Vec<f32> = (0..n * blocks).map(|index| (index * 5 % (1 << bits)) as f32).collect();
        let codes = Codes { bytes: &bytes, signed: false, row_stride: 1, column_stride: k };
        let weights = NBitsWeights::pack(NBitsLayout::Host, shape, codes, &scales, Some(&zero_points)).unwrap();

        let a_code = |row: usize, depth: usize| (row * 83 + depth * 29) as u8 as i8;
        let a_scale = |row: usize, group: usize| [2.0f32, 1.0][(row + group) % 2];
        let (mut quantized, mut a_scales) = (Vec::new(), Vec::new());
        for (group, row) in (0..groups).flat_map(|group| (0..rows).map(move |row| (group, row))) {
            quantized.extend((group * shape.group()..(group + 1) * shape.group()).map(|depth| a_code(row, depth)));
            a_scales.push(a_scale(row, group));
        }
        let a_sums: Vec<f32> =
            quantized.chunks(shape.group()).map(|codes| codes.iter().map(|&code| f32::from(code)).sum()).collect();
        let a = Int8Rows { shape, rows, codes: &quantized, scales: &a_scales, sums: &a_sums };

        let columns = NBITS_PANEL + 3;
        for panel in 0..n.div_ceil(NBITS_PANEL) {
            let mut tile = vec![f32::NAN; (rows + 1) * columns];
            assert!(form(weights.panel(panel).unwrap(), &a, &mut tile, columns));
            for (index, &y) in tile.iter().enumerate() {
                let (row, column) = (index / columns, panel * NBITS_PANEL + index % columns);
                if row == rows || index % columns >= NBITS_PANEL {
                    assert!(y.is_nan(), "{shape}: {row} {column} was written");
                    continue;
                }
                let term = |depth: usize| {
                    let block = column * blocks + depth / (k / blocks);
                    let b = (code(depth, column) as f64 - f64::from(zero_points[block])) * f64::from(scales[block]);
                    b * f64::from(a_code(row, depth)) * f64::from(a_scale(row, depth / shape.group()))
                };
                let expected: f64 = if column < n { (0..k).map(term).sum() } else { 0.0 };
                assert_eq!(f64::from(y), expected, "{shape} with {rows} rows: {row} {column}");
            }
        }
    }

    fn check_all(form: Form) {
        for bits in [2, 4, 8] {
            for (k, block) in [(16, 16), (48, 16), (32, 32), (96, 32), (128, 64)] {
                let shape = NBitsShape::new(k, 21, bits, block).unwrap();
                [1, 2, 3, 4, 5, 8, 9, 33].into_iter().for_each(|rows| check(form, shape, rows));
            }
        }
    }

    #[test]
    fn products_by_avx2_are_exact() {
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            check_all(avx2::nbits_int8);
        }
    }

    #[test]
    fn products_by_vnni_are_exact() {
        if is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vnni") {
            check_all(vnni::nbits_int8);
        }
    }
}
