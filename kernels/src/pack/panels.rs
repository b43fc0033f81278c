use rayon::prelude::*;

use crate::mem::AlignedBuf;
use crate::tensor::Element;
use crate::ukr::prefetch;

/// Rows of numbers to pack: element `[row, depth]` is `data[row * strides[0] + depth * strides[1]]`.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a, T> {
    pub data: &'a [T],
    pub rows: usize,
    pub k: usize,
    pub strides: [usize; 2],
}

impl<'a, T: Element> Rows<'a, T> {
    /// Row-major `[rows, k]`.
    pub fn contiguous(data: &'a [T], rows: usize, k: usize) -> Self {
        Self { data, rows, k, strides: [k, 1] }
    }

    /// `count` rows from `first` on.
    pub fn part(self, first: usize, count: usize) -> Self {
        let data = if self.k == 0 { &[] } else { &self.data[first * self.strides[0]..] };
        Self { data, rows: count, ..self }
    }
}

impl<T: Element> Rows<'_, T> {
    /// Asks for rows whose elements are neighbours to come to the first cache.
    pub fn prefetch(self) {
        let Self { data, rows, k, strides: [stride, k_stride] } = self;
        if k_stride == 1 {
            (0..rows).for_each(|row| prefetch(&data[row * stride..][..k]));
        }
    }
}

/// Elements of a panel that is `width` wide and `k` deep, in groups of `k_group`.
pub(crate) fn panel_len(width: usize, k: usize, k_group: usize) -> usize {
    width * k.next_multiple_of(k_group)
}

/// Packs up to `width` rows as `[k / k_group][width][k_group]`, rounded up, with zeros where they end.
///
/// # Panics
/// When `panel` does not have [`panel_len`] elements.
pub(crate) fn pack_panel<T: Element>(rows: Rows<'_, T>, width: usize, k_group: usize, panel: &mut [T]) {
    let Rows { data, rows: count, k, strides: [row_stride, k_stride] } = rows;
    assert_eq!(panel.len(), panel_len(width, k, k_group), "length of a panel");
    if count < width || !k.is_multiple_of(k_group) {
        panel.fill(T::zeroed());
    }
    if k_group == 1 && row_stride == 1 {
        for (depth, step) in panel.chunks_exact_mut(width).take(k).enumerate() {
            if depth + TOGETHER < k {
                prefetch(&data[(depth + TOGETHER) * k_stride..][..count]);
            }
            step[..count].copy_from_slice(&data[depth * k_stride..][..count]);
        }
        return;
    }
    if k_stride == 1 && pack_words(rows, width, k_group, panel).is_some() {
        return;
    }
    for row in 0..count {
        for (group, first) in (0..k).step_by(k_group).enumerate() {
            let len = k_group.min(k - first);
            let from = &data[row * row_stride + first * k_stride..];
            let to = &mut panel[(group * width + row) * k_group..][..len];
            if k_stride == 1 {
                to.copy_from_slice(&from[..len]);
            } else {
                to.iter_mut().zip(from.iter().step_by(k_stride)).for_each(|(to, &from)| *to = from);
            }
        }
    }
}

/// [`pack_panel`] of neighbouring elements by eight bytes at a time; `None` where something is not a multiple of them.
fn pack_words<T: Element>(rows: Rows<'_, T>, width: usize, k_group: usize, panel: &mut [T]) -> Option<()> {
    let Rows { data, rows: count, k, strides: [row_stride, _] } = rows;
    let words = |elements: usize| {
        let bytes = elements * size_of::<T>();
        bytes.is_multiple_of(size_of::<u64>()).then_some(bytes / size_of::<u64>())
    };
    let shape = [count, words(k)?, words(row_stride)?];
    let data: &[u64] =
        bytemuck::try_cast_slice(&data[..count.min(1) * k + count.saturating_sub(1) * row_stride]).ok()?;
    let panel: &mut [u64] = bytemuck::try_cast_slice_mut(panel).ok()?;
    match words(k_group)? {
        1 => pack_groups::<1>(data, shape, width, panel.as_chunks_mut().0),
        2 if k.is_multiple_of(k_group) => pack_groups::<2>(data, shape, width, panel.as_chunks_mut().0),
        _ => return None,
    }
    Some(())
}

/// Rows that are read side by side, so that their lines come at the same time.
const TOGETHER: usize = 4;

/// Packs rows of `k` words in groups of `W`.
fn pack_groups<const W: usize>(data: &[u64], [count, k, row_stride]: [usize; 3], width: usize, panel: &mut [[u64; W]]) {
    let row = |row: usize| data[row * row_stride..][..k].as_chunks::<W>().0;
    let whole = count - count % TOGETHER;
    for first in (0..whole).step_by(TOGETHER) {
        let next = (first + TOGETHER..whole).take(TOGETHER);
        next.for_each(|next| prefetch(row(next)));
        let [a, b, c, d] = [row(first), row(first + 1), row(first + 2), row(first + 3)];
        let groups = panel.chunks_exact_mut(width).zip(a).zip(b).zip(c).zip(d);
        for ((((group, a), b), c), d) in groups {
            group[first..first + TOGETHER].copy_from_slice(&[*a, *b, *c, *d]);
        }
    }
    for rest in whole..count {
        panel.chunks_exact_mut(width).zip(row(rest)).for_each(|(group, from)| group[rest] = *from);
    }
}

/// Packs rows as panels of `width`, one after the other; in parallel when called inside a rayon pool.
pub(crate) fn pack_panels<T: Element>(rows: Rows<'_, T>, width: usize, k_group: usize) -> AlignedBuf {
    let panel_len = panel_len(width, rows.k, k_group);
    let mut packed = AlignedBuf::zeroed(rows.rows.div_ceil(width) * panel_len * size_of::<T>());
    if panel_len > 0 {
        let panels = bytemuck::cast_slice_mut::<u8, T>(&mut packed).par_chunks_exact_mut(panel_len);
        panels.enumerate().for_each(|(index, panel)| {
            let first = index * width;
            pack_panel(rows.part(first, width.min(rows.rows - first)), width, k_group, panel);
        });
    }
    packed.sealed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_has_its_place_and_the_rest_is_zero() {
        for (rows, k) in [(1, 1), (4, 8), (5, 9), (8, 16), (33, 17), (3, 0), (0, 3)] {
            let data: Vec<i8> = (0..k * rows).map(|i| (i % 127 + 1) as i8).collect();
            for (width, k_group) in [(4, 8), (8, 16), (32, 1)] {
                for strides in [[k, 1], [1, rows]] {
                    let packed = pack_panels(Rows { data: &data, rows, k, strides }, width, k_group);
                    let depth = k.next_multiple_of(k_group);
                    assert_eq!(packed.len(), rows.next_multiple_of(width) * depth);
                    for (index, &x) in packed.iter().enumerate() {
                        let (panel, inside) = (index / (width * depth), index % (width * depth));
                        let (group, row, lane) =
                            (inside / (width * k_group), inside / k_group % width, inside % k_group);
                        let (row, depth) = (panel * width + row, group * k_group + lane);
                        let inside = row < rows && depth < k;
                        let expected = if inside { data[row * strides[0] + depth * strides[1]] } else { 0 };
                        assert_eq!(x as i8, expected, "{rows} x {k} in p{width}x{k_group}, byte {index}");
                    }
                }
            }
        }
    }
}
