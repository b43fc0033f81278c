//! The products of f32 rows with the columns of a panel.

use rten_simd::ops::{BitOps, IntOps, NumOps, ToFloat};
use rten_simd::{Isa, SimdOp};

use crate::host;
use crate::pack::{NBITS_PANEL, NBitsPanel};

/// Rows that share the unpacking of a panel.
const ROWS: usize = 4;

/// `tile[row, ..16] = a[row] x panel`, where `a` has rows of the panel's depth and `tile` rows of `columns` numbers.
pub(super) fn multiply(panel: NBitsPanel<'_>, a: &[f32], tile: &mut [f32], columns: usize) {
    let depth = panel.shape.depth();
    for (a, tile) in a.chunks(depth * ROWS).zip(tile.chunks_mut(columns * ROWS)) {
        match a.len() / depth {
            1 => multiply_rows::<1, 4>(panel, a, tile, columns),
            2 => multiply_rows::<2, 2>(panel, a, tile, columns),
            3 => multiply_rows::<3, 2>(panel, a, tile, columns),
            _ => multiply_rows::<ROWS, 2>(panel, a, tile, columns),
        }
    }
}

fn multiply_rows<const R: usize, const SUMS: usize>(
    panel: NBitsPanel<'_>,
    a: &[f32],
    tile: &mut [f32],
    columns: usize,
) {
    match panel.shape.bits() {
        2 => Rows::<R, SUMS, 2, 16> { panel, a, tile, columns }.dispatch(),
        4 => Rows::<R, SUMS, 4, 8> { panel, a, tile, columns }.dispatch(),
        _ => Rows::<R, SUMS, 8, 4> { panel, a, tile, columns }.dispatch(),
    }
}

/// `R` rows times a panel of codes of `BITS` bits, `CODES` in a word. The products of a row and a column are added in `SUMS`
/// sums, so that additions need not wait for each other.
struct Rows<'a, const R: usize, const SUMS: usize, const BITS: i32, const CODES: usize> {
    panel: NBitsPanel<'a>,
    a: &'a [f32],
    tile: &'a mut [f32],
    columns: usize,
}

impl<const R: usize, const SUMS: usize, const BITS: i32, const CODES: usize> SimdOp for Rows<'_, R, SUMS, BITS, CODES> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        let lanes = isa.f32().len();
        for first in (0..NBITS_PANEL).step_by(lanes) {
            let sums = self.columns::<I>(isa, first);
            for (row, sums) in sums.into_iter().enumerate() {
                isa.f32().store(sums, &mut self.tile[row * self.columns + first..][..lanes]);
            }
        }
    }
}

impl<const R: usize, const SUMS: usize, const BITS: i32, const CODES: usize> Rows<'_, R, SUMS, BITS, CODES> {
    /// The products of all rows with a vector of columns, from column `first` of the panel on.
    #[inline(always)]
    fn columns<I: Isa>(&self, isa: I, first: usize) -> [I::F32; R] {
        let (floats, ints) = (isa.f32(), isa.i32());
        let shape = self.panel.shape;
        let mask = ints.splat((1 << BITS) - 1);
        let mut sums = [floats.zero(); R];
        for group in 0..shape.groups() {
            let zero_points = floats.load(&self.panel.zero_points(group)[first..]);
            let mut products = [[floats.zero(); SUMS]; R];
            let a: [&[[f32; CODES]]; R] = std::array::from_fn(|row| {
                let start = row * shape.depth() + group * shape.group();
                self.a[start..start + shape.group()].as_chunks().0
            });
            for (index, word) in self.panel.words(group).iter().enumerate() {
                let a: [&[f32; CODES]; R] = std::array::from_fn(|row| &a[row][index]);
                let mut rest = ints.load(&bytemuck::cast_ref::<_, [i32; NBITS_PANEL]>(word)[first..]);
                for place in 0..CODES {
                    let row_below = place % (CODES / 4) * 4 + place / (CODES / 4);
                    let code = ints.to_float(ints.and(rest, mask));
                    let weight = floats.sub(code, zero_points);
                    for row in 0..R {
                        let sum = &mut products[row][place % SUMS];
                        *sum = floats.mul_add(weight, floats.splat(a[row][row_below]), *sum);
                    }
                    rest = ints.shift_right::<BITS>(rest);
                }
            }
            let scales = floats.load(&self.panel.scales(group)[first..]);
            for row in 0..R {
                let mut product = products[row][0];
                products[row][1..].iter().for_each(|sum| product = floats.add(product, *sum));
                sums[row] = floats.mul_add(product, scales, sums[row]);
            }
        }
        sums
    }
}

/// Writes the first `k` rows of the panel in f32 to `out`, which has rows of `columns` numbers.
pub(super) fn dequantize(panel: NBitsPanel<'_>, out: &mut [f32], columns: usize) {
    match panel.shape.bits() {
        2 => host::vectorised(|| dequantize_codes::<2, 16>(panel, out, columns)),
        4 => host::vectorised(|| dequantize_codes::<4, 8>(panel, out, columns)),
        _ => host::vectorised(|| dequantize_codes::<8, 4>(panel, out, columns)),
    }
}

#[inline(always)]
fn dequantize_codes<const BITS: usize, const CODES: usize>(panel: NBitsPanel<'_>, out: &mut [f32], columns: usize) {
    let mut rows = out.chunks_mut(columns);
    for group in 0..panel.shape.groups() {
        let (scales, zero_points) = (panel.scales(group), panel.zero_points(group));
        for word in panel.words(group) {
            for (below, row) in rows.by_ref().take(CODES).enumerate() {
                let shift = below % 4 * 8 + below / 4 * BITS;
                let row: &mut [f32; NBITS_PANEL] = (&mut row[..NBITS_PANEL]).try_into().expect("a row holds a panel");
                for column in 0..NBITS_PANEL {
                    let code = (word[column] >> shift & ((1 << BITS) - 1)) as i32 as f32;
                    row[column] = (code - zero_points[column]) * scales[column];
                }
            }
        }
    }
}
