//! Rows that are quantised to int8 in the groups of a weight, as a micro-kernel for blocks of rows reads them.

use std::ops::Range;

use super::left::chunks;
use super::line::Line;
use crate::mem::Scratch;
use crate::pack::{NBitsLayout, NBitsShape, Rows, pack_panel, panel_len};
use crate::rt::Worker;
use crate::table::MatMulSpec;

/// Numbers of a piece of the depth: a multiple of every group.
pub(super) const DEPTH: usize = 256;

/// A piece of the depth after the other. In each, the blocks of rows follow one another, so that the next one is asked for by its
/// distance alone.
pub(super) struct QuantizedRows<'a> {
    spec: &'static MatMulSpec,
    k: usize,
    /// Numbers of a group.
    group: usize,
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
            + Scratch::bytes::<i8>(spec.block.m * DEPTH)
            + 2 * Scratch::bytes::<f32>(spec.block.m * DEPTH / layout.group(shape))
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
            rows,
            written,
            codes: scratch.take(written * layout.depth(shape)),
            scales: scratch.take(written * groups * spec.copies()),
            sums: scratch.take(written * groups * spec.copies()),
        };
        let lines: &mut [i8] = scratch.take(spec.block.m * DEPTH);
        let [scales, sums]: [&mut [f32]; 2] = [(); 2].map(|()| scratch.take(spec.block.m * DEPTH / group));
        let pieces = |block: Range<usize>| chunks(0..groups, DEPTH / group).map(move |groups| (block.clone(), groups));
        for (block, groups) in quantized.blocks().flat_map(pieces) {
            let depth = groups.start * group..(groups.end * group).min(k);
            let parameters = scales.chunks_mut(DEPTH / group).zip(sums.chunks_mut(DEPTH / group));
            for ((row, codes), (scales, sums)) in block.clone().zip(lines.chunks_mut(DEPTH)).zip(parameters) {
                let (scales, sums) = (&mut scales[..groups.len()], &mut sums[..groups.len()]);
                let mut line = Line { codes: &mut codes[..depth.len()], scales, sums };
                line.quantize(worker, &a[row * k..][depth.clone()], group);
            }
            quantized.put_parameters(&block, &groups, scales, sums);
            quantized.put_codes(&block, &groups, lines);
        }
        quantized
    }

    /// The rows of each block.
    pub fn blocks(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        chunks(0..self.rows, self.spec.block.m)
    }

    /// Rows that are written for `block`.
    pub fn width(&self, block: &Range<usize>) -> usize {
        self.spec.block.m.min(self.written - block.start)
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

    /// Copies the scales and sums of a piece of a block, of which each row has those of a piece; those of its padding are zeros.
    fn put_parameters(&mut self, block: &Range<usize>, groups: &Range<usize>, scales: &[f32], sums: &[f32]) {
        let (rows, width, copies) = ([block.len(), DEPTH / self.group], self.width(block), self.spec.copies());
        let to = self.at(block, groups) * copies..(self.at(block, groups) + groups.len() * width) * copies;
        for (from, to) in [(scales, &mut self.scales[to.clone()]), (sums, &mut self.sums[to])] {
            match copies {
                4 => put_copies::<4>(from, rows, to, width),
                _ => put_copies::<1>(from, rows, to, width),
            }
        }
    }

    /// Packs the codes of a piece of a block, which are rows of [`DEPTH`] in `lines`.
    fn put_codes(&mut self, block: &Range<usize>, groups: &Range<usize>, lines: &[i8]) {
        let (width, k_group) = (self.width(block), self.spec.tile.k);
        let k = (groups.end * self.group).min(self.k) - groups.start * self.group;
        let first = self.at(block, groups) * self.group;
        let panel = &mut self.codes[first..][..groups.len() * width * self.group];
        let (codes, padding) = panel.split_at_mut(panel_len(width, k, k_group));
        pack_panel(Rows { data: lines, rows: block.len(), k, strides: [DEPTH, 1] }, width, k_group, codes);
        padding.fill(0);
    }
}

/// Writes `C` copies of numbers, of which `from` has rows: for each group `width` of them, zeros behind those that there are.
fn put_copies<const C: usize>(from: &[f32], [rows, stride]: [usize; 2], to: &mut [f32], width: usize) {
    for (group, copies) in to.as_chunks_mut::<C>().0.chunks_mut(width).enumerate() {
        let (copies, padding) = copies.split_at_mut(rows);
        copies.iter_mut().enumerate().for_each(|(row, copies)| *copies = [from[row * stride + group]; C]);
        padding.fill([0.0; C]);
    }
}
