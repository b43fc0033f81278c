//! The products of rows that are quantised to int8 with panels of a chip's layout.

use std::ops::Range;

use super::left::{STRIP, chunks};
use super::line::Line;
use super::piece::Piece;
use crate::driver::RunError;
use crate::mem::Scratch;
use crate::pack::{NBitsBlocks, NBitsLayout, NBitsShape, NBitsWeights, Rows, pack_panel, panel_len};
use crate::rt::Worker;
use crate::select;
use crate::table::Variant;
use crate::ukr::matmul_nbits::{Args, MatMulNBits};

/// Rows in blocks of the variant, each as its micro-kernel reads it.
pub(crate) struct GroupProducts<'a> {
    variant: &'static Variant<MatMulNBits>,
    shape: NBitsShape,
    rows: usize,
    codes: &'a mut [i8],
    /// Scales of the rows of each group, in the copies of the variant.
    scales: &'a mut [f32],
    /// Sums of the codes, as the scales.
    sums: &'a mut [f32],
    piece: Piece<'a>,
    /// `C` of all blocks of one panel after the other.
    products: &'a mut [f32],
}

fn layout(variant: &Variant<MatMulNBits>) -> NBitsLayout {
    NBitsLayout::Packed(variant.spec.layout)
}

impl<'a> GroupProducts<'a> {
    /// Bytes of scratch that [`GroupProducts::prepare`] needs for `rows` rows.
    pub fn scratch(variant: &Variant<MatMulNBits>, shape: &NBitsShape, rows: usize) -> usize {
        let (layout, block) = (layout(variant), variant.spec.block.m);
        let (rows, groups) = (rows.next_multiple_of(variant.spec.tile.m), layout.groups(shape));
        Scratch::bytes::<i8>(rows * layout.depth(shape))
            + 2 * Scratch::bytes::<f32>(rows * groups * variant.spec.copies())
            + Scratch::bytes::<i8>(block * shape.k())
            + 2 * Scratch::bytes::<f32>(groups)
            + Piece::scratch(STRIP)
            + Scratch::bytes::<f32>(rows * STRIP)
    }

    /// Quantises `a`, which has rows of the weight's `k`, in the groups of the weight.
    pub fn prepare(
        worker: &Worker<'_>,
        variant: &'static Variant<MatMulNBits>,
        shape: &NBitsShape,
        a: &[f32],
        scratch: &mut Scratch<'a>,
    ) -> Self {
        let (layout, rows, k) = (layout(variant), a.len() / shape.k(), shape.k());
        let (written, groups) = (rows.next_multiple_of(variant.spec.tile.m), layout.groups(shape));
        let mut products = Self {
            variant,
            shape: *shape,
            rows,
            codes: scratch.take(written * layout.depth(shape)),
            scales: scratch.take(written * groups * variant.spec.copies()),
            sums: scratch.take(written * groups * variant.spec.copies()),
            piece: Piece::new(layout, *shape, STRIP, scratch),
            products: scratch.take(written * STRIP),
        };
        let lines: &mut [i8] = scratch.take(variant.spec.block.m * k);
        let (scales, sums): (&mut [f32], &mut [f32]) = (scratch.take(groups), scratch.take(groups));
        for block in chunks(0..rows, variant.spec.block.m) {
            for row in block.clone() {
                let codes = &mut lines[(row - block.start) * k..][..k];
                let mut line = Line { codes, scales: &mut *scales, sums: &mut *sums };
                line.quantize(worker, &a[row * k..][..k], layout.group(shape));
                products.put_parameters(block.start, row - block.start, block.len(), Some(&line));
            }
            for padding in block.len()..products.width(block.len()) {
                products.put_parameters(block.start, padding, block.len(), None);
            }
            products.put_codes(block.start, block.len(), lines);
        }
        products
    }

    /// Rows that are written for a block of `rows`.
    fn width(&self, rows: usize) -> usize {
        rows.next_multiple_of(self.variant.spec.tile.m)
    }

    /// Scales and sums of row `row` of the block of `rows` rows that begins at `first`; zeros for a row that is none.
    fn put_parameters(&mut self, first: usize, row: usize, rows: usize, line: Option<&Line<'_>>) {
        let (groups, width, copies) = (self.piece.groups(), self.width(rows), self.variant.spec.copies());
        for group in 0..groups {
            let to = (first * groups + group * width + row) * copies;
            let (scale, sum) = line.map_or((0.0, 0.0), |line| (line.scales[group], line.sums[group]));
            self.scales[to..to + copies].fill(scale);
            self.sums[to..to + copies].fill(sum);
        }
    }

    /// Packs the codes of the block of `rows` rows that begins at `first`.
    fn put_codes(&mut self, first: usize, rows: usize, lines: &[i8]) {
        let (width, depth, k, k_group) =
            (self.width(rows), self.piece.depth(), self.shape.k(), self.variant.spec.tile.k);
        let panel = &mut self.codes[first * depth..][..width * depth];
        let (codes, padding) = panel.split_at_mut(panel_len(width, k, k_group));
        pack_panel(Rows::contiguous(lines, rows, k), width, k_group, codes);
        padding.fill(0);
    }

    /// Columns of `panels`, side by side in `tile`. Rows meet each piece of all panels while they are in the first cache.
    pub fn multiply(
        &mut self,
        worker: &Worker<'_>,
        weights: &NBitsWeights,
        panels: Range<usize>,
        tile: &mut [f32],
    ) -> Result<(), RunError> {
        let layout = layout(self.variant);
        self.products.fill(0.0);
        for groups in self.piece.pieces() {
            for (index, panel) in panels.clone().enumerate() {
                self.piece.unpack(worker, &weights.blocks(layout, panel)?, index, groups.clone());
            }
            for block in chunks(0..self.rows, self.variant.spec.block.m) {
                for (index, panel) in panels.clone().enumerate() {
                    self.multiply_block(worker, &weights.blocks(layout, panel)?, index, block.clone(), groups.clone());
                }
            }
        }
        (0..panels.len()).for_each(|index| self.store(index, tile));
        Ok(())
    }

    /// Adds the products of a block of rows with these groups of the `index`th panel.
    fn multiply_block(
        &mut self,
        worker: &Worker<'_>,
        blocks: &NBitsBlocks<'_>,
        index: usize,
        block: Range<usize>,
        groups: Range<usize>,
    ) {
        let (spec, panel) = (&self.variant.spec, layout(self.variant).panel());
        let (group, all_groups, rows) = (self.piece.group(), self.piece.groups(), self.width(block.len()));
        let columns = groups.start * panel..groups.end * panel;
        let of_groups = |numbers: usize| {
            let first = (block.start * all_groups + groups.start * rows) * numbers;
            first..first + groups.len() * rows * numbers
        };
        let first = self.first_product(index) + block.start * panel;
        let products = &mut self.products[first..][..rows * panel];
        let zero_points = blocks.zero_points.map(|zero_points| &zero_points[columns.clone()]);
        let args = Args {
            a: self.codes[of_groups(group)].as_ptr(),
            b: self.piece.codes(index, groups.len()).as_ptr(),
            a_scales: self.scales[of_groups(spec.copies())].as_ptr(),
            a_sums: self.sums[of_groups(spec.copies())].as_ptr(),
            b_scales: blocks.scales[columns].as_ptr(),
            b_zero_points: zero_points.map_or(std::ptr::null(), <[f32]>::as_ptr),
            c: products.as_mut_ptr(),
            groups: groups.len(),
            k_groups: group / spec.tile.k,
            rows,
        };
        // SAFETY: the slices have these groups of so many rows and columns, `rows` is a multiple of the tile's rows within
        // the block's, and `products` is ours alone.
        unsafe { select::arm(self.variant, worker).call(&args) };
    }

    /// Where the products of the `index`th panel begin.
    fn first_product(&self, index: usize) -> usize {
        index * self.width(self.rows) * layout(self.variant).panel()
    }

    /// Writes the products of the `index`th panel to `tile`, row-major, from `[block][row of tiles][tile][m][n]`.
    fn store(&self, index: usize, tile: &mut [f32]) {
        let (spec, panel) = (&self.variant.spec, self.variant.spec.layout.panel());
        let (m, n) = (spec.tile.m, spec.tile.n);
        let products = &self.products[self.first_product(index)..];
        for (row, line) in tile.chunks_mut(STRIP).take(self.rows).enumerate() {
            for (across, part) in line[index * panel..][..panel].chunks_mut(n).enumerate() {
                let first = (row / m * (panel / n) + across) * m * n + row % m * n;
                part.copy_from_slice(&products[first..][..n]);
            }
        }
    }
}
