use rten_tensor::Matrix;
use rten_tensor::prelude::*;

use crate::isa::TileShape;
use crate::mem::AlignedBuf;
use crate::tensor::Element;

/// Elements of a panel that is `width` wide and `k` deep, in groups of `k_group`.
pub(crate) fn panel_len(width: usize, k: usize, k_group: usize) -> usize {
    width * k.next_multiple_of(k_group)
}

/// Packs `b` (`[k, n]`, any strides) as panels of `width` columns: `[n / width][k / k_group][width][k_group]`, rounded up,
/// with zeros where `b` ends.
pub(crate) fn pack_columns<T: Element>(b: Matrix<'_, T>, width: usize, k_group: usize) -> AlignedBuf {
    let [k, n] = b.shape();
    let panel_len = panel_len(width, k, k_group);
    let mut packed = AlignedBuf::zeroed(n.div_ceil(width) * panel_len * size_of::<T>());
    let panels = bytemuck::cast_slice_mut::<u8, T>(&mut packed);
    for column in 0..n {
        let panel = &mut panels[column / width * panel_len..][..panel_len];
        for (depth, &x) in b.slice((.., column)).iter().enumerate() {
            let (group, inside) = (depth / k_group, depth % k_group);
            panel[(group * width + column % width) * k_group + inside] = x;
        }
    }
    packed
}

/// Packs `a` (row-major `[rows, k]`) as panels of `tile.m` rows: `[rows / m][k / tile.k][m][tile.k]`, rounded up, with
/// zeros where `a` ends. `packed` has as many elements as that.
pub(crate) fn pack_rows<T: Element>(a: &[T], k: usize, tile: TileShape, packed: &mut [T]) {
    packed.fill(T::zeroed());
    if k == 0 {
        return;
    }
    let panel_len = panel_len(tile.m, k, tile.k);
    for (row, a) in a.chunks_exact(k).enumerate() {
        let panel = &mut packed[row / tile.m * panel_len..][..panel_len];
        for (group, a) in a.chunks(tile.k).enumerate() {
            panel[(group * tile.m + row % tile.m) * tile.k..][..a.len()].copy_from_slice(a);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::matrix;

    #[test]
    fn every_element_has_its_place_and_the_rest_is_zero() {
        for (k, n) in [(1, 1), (8, 4), (9, 5), (16, 8), (17, 33), (0, 3), (3, 0)] {
            let b: Vec<i8> = (0..k * n).map(|i| (i % 127 + 1) as i8).collect();
            for (width, k_group) in [(4, 8), (8, 16), (32, 1)] {
                let packed = pack_columns(matrix(&b, [k, n], [n, 1]), width, k_group);
                let depth = k.next_multiple_of(k_group);
                assert_eq!(packed.len(), n.next_multiple_of(width) * depth);
                for (index, &x) in packed.iter().enumerate() {
                    let (panel, inside) = (index / (width * depth), index % (width * depth));
                    let (group, column, lane) =
                        (inside / (width * k_group), inside / k_group % width, inside % k_group);
                    let (row, column) = (group * k_group + lane, panel * width + column);
                    let expected = if row < k && column < n { b[row * n + column] } else { 0 };
                    assert_eq!(x as i8, expected, "{k} x {n} in p{width}x{k_group}, byte {index}");
                }
                // Rows of the transpose are packed like columns.
                let mut rows = vec![0x55u8 as i8; packed.len()];
                let transposed: Vec<i8> = (0..k * n).map(|i| b[i % k.max(1) * n + i / k.max(1)]).collect();
                pack_rows(&transposed, k, TileShape { m: width, n: 1, k: k_group }, &mut rows);
                assert_eq!(bytemuck::cast_slice::<i8, u8>(&rows), &*packed);
            }
        }
    }
}
