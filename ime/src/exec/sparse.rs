//! 4:2 sparsity: of four elements of a column of B, two are stored and a mask of four bits tells which.

use super::tile::Tile;

/// The tile with B made dense, twice as deep.
///
/// `mask` is the whole mask register; the masks of `segment` lie one after the other, column by column, the low
/// half of a byte first. A mask without exactly two bits stands for four zeros.
pub fn expand(mut tile: Tile, mask: &[u8], segment: usize) -> Tile {
    let pairs = tile.rows * tile.depth / 2;
    let compressed = tile.b;
    tile.b.fill(0);
    for q in 0..pairs {
        let at = segment * pairs + q;
        let bits = mask[at / 2] >> (at % 2 * 4) & 15;
        if bits.count_ones() == 2 {
            let (first, second) = (bits.trailing_zeros(), bits.ilog2());
            tile.b[4 * q + first as usize] = compressed[2 * q];
            tile.b[4 * q + second as usize] = compressed[2 * q + 1];
        }
    }
    tile.depth *= 2;
    tile
}
