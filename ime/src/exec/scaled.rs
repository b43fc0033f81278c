//! The block-scaled integer products: `vmadot.hp`.

use super::tile::Tile;
use crate::core::Core;
use crate::float16::Float16;

/// The scales of group `group`, one for each column of B (zeros after them).
pub fn scales(core: Core, format: Float16, register: &[u8], group: usize) -> [f64; Core::MAX_VLENB / 2] {
    let mut scales = [0.0; Core::MAX_VLENB / 2];
    let (bits, _) = register.as_chunks::<2>();
    for (to, &scale) in scales.iter_mut().zip(&bits[group * core.rows()..][..core.rows()]) {
        *to = format.widen(u16::from_le_bytes(scale));
    }
    scales
}

/// C += (A B^T) * scale in 16-bit floats. The specification names no rounding mode: each of the three steps
/// (the integer sum to a float, the product, the sum) rounds to nearest, as its pseudo-code reads.
pub fn accumulate(tile: &Tile, scales: &[f64], format: Float16, c: &mut [u8]) {
    let rounded = |value| format.widen(format.round(value));
    for (p, c) in c.as_chunks_mut::<2>().0.iter_mut().enumerate() {
        let (i, j) = (p / tile.rows, p % tile.rows);
        let scaled = rounded(rounded(tile.product(i, j).into()) * scales[j]);
        *c = format.round(format.widen(u16::from_le_bytes(*c)) + scaled).to_le_bytes();
    }
}
