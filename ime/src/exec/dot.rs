//! The integer products with 32-bit sums: `vmadot`, its slides, and `vmadot.sp` once B is dense.

use super::tile::Tile;

/// C += A B^T, A from row `slide` on; `c` holds rows of 32-bit integers. Sums wrap.
pub fn accumulate(tile: &Tile, slide: usize, c: &mut [u8]) {
    for (p, c) in c.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        let product = tile.product(p / tile.rows + slide, p % tile.rows);
        *c = i32::from_le_bytes(*c).wrapping_add(product).to_le_bytes();
    }
}
