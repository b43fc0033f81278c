//! Rows that are quantised to int8 in the groups of a weight, as a micro-kernel for blocks of rows reads them.

use std::ops::Range;

use super::left::chunks;
use super::line::Line;
use super::piece::Piece;
use crate::mem::Scratch;
use crate::pack::{NBitsLayout, NBitsShape, Rows, pack_panel, panel_len};
use crate::rt::Worker;
use crate::table::MatMulSpec;

/// A piece of the depth after the other. In each, the blocks of rows follow one another, so that the next one is asked for by its
/// distance alone.
pub(super) struct QuantizedRows<'a> {
    spec: &'static MatMulSpec,
    k: usize,
    /// Numbers of a group.
    group: usize,
    groups: usize,
    rows: usize,
    /// Rows with those that fill the last tile up.
    written: usize,
    codes: &'a mut [i8],
    /// Scales of the rows of each group, in the copies of the variant.
    scales: &'a mut [f32],
    /// Sums of the codes, as the scales.
    sums: &'a mut [f32],
}

/// A block of rows with a piece of the depth.
pub(super) struct QuantizedBlock<'a> {
    pub codes: &'a [i8],
    pub scales: &'a [f32],
    pub sums: &'a [f32],
    /// Rows with those that fill the last tile up.
    pub rows: usize,
}

impl<'a> QuantizedRows<'a> {
    /// Bytes of scratch that [`QuantizedRows::quantize`] needs for `rows` rows.
    pub fn scratch(spec: &MatMulSpec, shape: &NBitsShape, rows: usize) -> usize {
        let layout = NBitsLayout::Packed(spec.layout);
        let (written, groups) = (rows.next_multiple_of(spec.tile.m), layout.groups(shape));
        Scratch::bytes::<i8>(written * layout.depth(shape))
            + 2 * Scratch::bytes::<f32>(written * groups * spec.copies())
            + Scratch::bytes::<i8>(spec.block.m * shape.k())
            + 2 * Scratch::bytes::<f32>(groups)
    }

    /// Quantises `a`, which has rows of the weight's `k`, in the groups of the weight.
    pub fn quantize(
        worker: &Worker<'_>,
        spec: &'static MatMulSpec,
        shape: &NBitsShape,
        a: &[f32],
        scratch: &mut Scratch<'a>,
    ) -> Self {
        let (layout, k) = (NBitsLayout::Packed(spec.layout), shape.k());
        let (rows, group, groups) = (a.len() / k, layout.group(shape), layout.groups(shape));
        let written = rows.next_multiple_of(spec.tile.m);
        let mut quantized = Self {
            spec,
            k,
            group,
            groups,
            rows,
            written,
            codes: scratch.take(written * layout.depth(shape)),
            scales: scratch.take(written * groups * spec.copies()),
            sums: scratch.take(written * groups * spec.copies()),
        };
        let lines: &mut [i8] = scratch.take(spec.block.m * k);
        let (scales, sums): (&mut [f32], &mut [f32]) = (scratch.take(groups), scratch.take(groups));
        for block in quantized.blocks() {
            for (row, codes) in block.clone().zip(lines.chunks_mut(k)) {
                let mut line = Line { codes, scales: &mut *scales, sums: &mut *sums };
                line.quantize(worker, &a[row * k..][..k], group);
                quantized.put_parameters(&block, row, Some((&*scales, &*sums)));
            }
            for padding in block.end..block.start + quantized.width(&block) {
                quantized.put_parameters(&block, padding, None);
            }
            quantized.put_codes(&block, lines);
        }
        quantized
    }

    /// The rows of each block.
    pub fn blocks(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        chunks(0..self.rows, self.spec.block.m)
    }

    /// The groups of each piece.
    fn pieces(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        chunks(0..self.groups, Piece::ROWS / self.group)
    }

    /// Rows that are written for `block`.
    pub fn width(&self, block: &Range<usize>) -> usize {
        block.len().next_multiple_of(self.spec.tile.m)
    }

    /// The rows of `block` with the groups of a piece.
    pub fn block(&self, block: &Range<usize>, groups: &Range<usize>) -> QuantizedBlock<'_> {
        let (at, rows, copies) = (self.at(block, groups), self.width(block), self.spec.copies());
        let numbers = |numbers: usize| at * numbers..(at + groups.len() * rows) * numbers;
        QuantizedBlock {
            codes: &self.codes[numbers(self.group)],
            scales: &self.scales[numbers(copies)],
            sums: &self.sums[numbers(copies)],
            rows,
        }
    }

    /// Groups of single rows before those of `block` in the piece of `groups`.
    fn at(&self, block: &Range<usize>, groups: &Range<usize>) -> usize {
        groups.start * self.written + block.start * groups.len()
    }

    /// Scales and sums of row `row`, which is one of `block` or of its padding; zeros where there are none.
    fn put_parameters(&mut self, block: &Range<usize>, row: usize, parameters: Option<(&[f32], &[f32])>) {
        let width = self.width(block);
        for groups in self.pieces() {
            let at = [self.at(block, &groups) + row - block.start, width, groups.len()];
            let parameters = parameters.map(|(scales, sums)| (&scales[groups.clone()], &sums[groups.clone()]));
            match self.spec.copies() {
                4 => put_copies::<4>(parameters, at, self.scales, self.sums),
                _ => put_copies::<1>(parameters, at, self.scales, self.sums),
            }
        }
    }

    /// Packs the codes of a block, which are rows of `k` in `lines`.
    fn put_codes(&mut self, block: &Range<usize>, lines: &[i8]) {
        let (width, k, k_group) = (self.width(block), self.k, self.spec.tile.k);
        for groups in self.pieces() {
            let first = self.at(block, &groups) * self.group;
            let panel = &mut self.codes[first..][..groups.len() * width * self.group];
            let depth = groups.start * self.group..(groups.end * self.group).min(k);
            let (codes, padding) = panel.split_at_mut(panel_len(width, depth.len(), k_group));
            let data = &lines[depth.start..block.len() * k];
            pack_panel(Rows { data, rows: block.len(), k: depth.len(), strides: [k, 1] }, width, k_group, codes);
            padding.fill(0);
        }
    }
}

/// Writes `C` copies of the scale and of the sum of each group of a line, zeros where there is none, from copy `first` on,
/// `stride` copies apart.
fn put_copies<const C: usize>(
    line: Option<(&[f32], &[f32])>,
    [first, stride, groups]: [usize; 3],
    scales: &mut [f32],
    sums: &mut [f32],
) {
    let (scales, sums) = (scales.as_chunks_mut().0, sums.as_chunks_mut().0);
    for group in 0..groups {
        let (scale, sum) = line.map_or((0.0, 0.0), |(scales, sums)| (scales[group], sums[group]));
        scales[first + group * stride] = [scale; C];
        sums[first + group * stride] = [sum; C];
    }
}
