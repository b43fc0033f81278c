//! The products of rows that are quantised to int8 with panels of a chip's layout.

use std::ops::Range;
use std::slice::Chunks;

use super::left::{STRIP, chunks};
use super::line::Line;
use super::piece::Piece;
use crate::driver::RunError;
use crate::mem::Scratch;
use crate::pack::{NBitsBlocks, NBitsLayout, NBitsShape, NBitsWeights, Rows, pack_panel, panel_len};
use crate::rt::Worker;
use crate::select;
use crate::table::{Family, MatMulSpec, Variant};
use crate::ukr::matmul_nbits::{Args, MatMulNBits};
use crate::ukr::prefetch;

/// Columns of the narrowest panel of a chip.
const FEWEST_COLUMNS: usize = 16;

/// Rows in blocks of the variant, each as its micro-kernel reads it.
pub(crate) struct GroupProducts<'a> {
    variant: &'static Variant<MatMulNBits>,
    shape: NBitsShape,
    rows: usize,
    /// Rows with those that fill the last tile up.
    written: usize,
    /// Steps of a group.
    k_groups: usize,
    codes: &'a mut [i8],
    /// Scales of the rows of each group, in the copies of the variant.
    scales: &'a mut [f32],
    /// Sums of the codes, as the scales.
    sums: &'a mut [f32],
    piece: Piece<'a>,
    /// `C` of all blocks of one panel after the other.
    products: &'a mut [f32],
}

/// The order of the weights that `variant` reads.
pub(super) fn layout<F: Family<Spec = MatMulSpec>>(variant: &Variant<F>) -> NBitsLayout {
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
            written,
            k_groups: layout.group(shape) / variant.spec.tile.k,
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
        let (groups, width) = (self.piece.groups(), self.width(rows));
        let line = line.map(|line| (&*line.scales, &*line.sums));
        let at = [first * groups + row, width, groups];
        match self.variant.spec.copies() {
            4 => put_copies::<4>(line, at, self.scales, self.sums),
            _ => put_copies::<1>(line, at, self.scales, self.sums),
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
        let (layout, spec) = (layout(self.variant), &self.variant.spec);
        let kernel = select::arm(self.variant, worker);
        let mut all = [None; STRIP / FEWEST_COLUMNS];
        for (blocks, panel) in all.iter_mut().zip(panels.clone()) {
            *blocks = Some(weights.blocks(layout, panel)?);
        }
        self.products.fill(0.0);
        for groups in self.piece.pieces() {
            for (index, blocks) in all.iter().flatten().enumerate() {
                self.piece.unpack(worker, blocks, index, groups.clone());
            }
            let turns = self.rows.div_ceil(spec.block.m);
            let mut ahead = all.map(|blocks| Some(self.ahead(&blocks?, groups.end, turns)));
            for block in chunks(0..self.rows, spec.block.m) {
                ahead.iter_mut().flatten().for_each(Ahead::ask);
                let rows = self.width(block.len());
                for (index, blocks) in all.iter().flatten().enumerate() {
                    let args = self.args(blocks, index, [block.start, rows], &groups);
                    // SAFETY: `args` has slices with these groups of so many rows and columns, `rows` is a multiple of the
                    // tile's rows within the block's, and `products` is ours alone.
                    unsafe { kernel.call(&args) };
                }
            }
        }
        (0..panels.len()).for_each(|index| self.store(index, tile));
        Ok(())
    }

    /// The piece of a panel that begins with group `first`, in `turns` parts; none behind the last one.
    fn ahead<'w>(&self, blocks: &NBitsBlocks<'w>, first: usize, turns: usize) -> Ahead<'w> {
        let (group, panel) = (self.piece.group(), layout(self.variant).panel());
        let next = first..(first + Piece::ROWS / group).min(self.piece.groups());
        let codes = &blocks.codes[self.piece.packed(&next)];
        let scales = &blocks.scales[next.start * panel..next.end * panel];
        Ahead {
            codes: codes.chunks(codes.len().div_ceil(turns).max(1)),
            scales: scales.chunks(scales.len().div_ceil(turns).max(1)),
        }
    }

    /// Arguments for `rows` rows from row `first` on and these groups of the `index`th panel.
    fn args(
        &mut self,
        blocks: &NBitsBlocks<'_>,
        index: usize,
        [first, rows]: [usize; 2],
        groups: &Range<usize>,
    ) -> Args {
        let (panel, copies) = (self.variant.spec.layout.panel(), self.variant.spec.copies());
        let columns = groups.start * panel..groups.end * panel;
        let from = first * self.piece.groups() + groups.start * rows;
        let of_groups = |numbers: usize| from * numbers..(from + groups.len() * rows) * numbers;
        let products = &mut self.products[(index * self.written + first) * panel..][..rows * panel];
        let zero_points = blocks.zero_points.map(|zero_points| &zero_points[columns.clone()]);
        Args {
            a: self.codes[of_groups(self.piece.group())].as_ptr(),
            b: self.piece.codes(index, groups.len()).as_ptr(),
            a_scales: self.scales[of_groups(copies)].as_ptr(),
            a_sums: self.sums[of_groups(copies)].as_ptr(),
            b_scales: blocks.scales[columns].as_ptr(),
            b_zero_points: zero_points.map_or(std::ptr::null(), <[f32]>::as_ptr),
            c: products.as_mut_ptr(),
            groups: groups.len(),
            k_groups: self.k_groups,
            rows,
        }
    }

    /// Writes the products of the `index`th panel to `tile`, row-major, from `[block][row of tiles][tile][m][n]`.
    fn store(&self, index: usize, tile: &mut [f32]) {
        let (spec, panel) = (&self.variant.spec, self.variant.spec.layout.panel());
        let (m, n) = (spec.tile.m, spec.tile.n);
        let products = &self.products[index * self.written * panel..];
        for (row, line) in tile.chunks_mut(STRIP).take(self.rows).enumerate() {
            let (line, first) = (&mut line[index * panel..][..panel], row / m * panel * m + row % m * n);
            match n {
                4 => gather::<4>(&products[first..], m, line),
                _ => gather::<32>(&products[first..], m, line),
            }
        }
    }
}

/// What is unpacked next, in as many parts as there are blocks of rows.
struct Ahead<'w> {
    codes: Chunks<'w, u8>,
    scales: Chunks<'w, f32>,
}

impl Ahead<'_> {
    /// Asks for the next part.
    fn ask(&mut self) {
        self.codes.next().into_iter().for_each(prefetch);
        self.scales.next().into_iter().for_each(prefetch);
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

/// Writes a row of neighbouring tiles of `m` rows by `N` columns, whose part of the first tile `products` begins with.
fn gather<const N: usize>(products: &[f32], m: usize, line: &mut [f32]) {
    let parts = products.as_chunks::<N>().0.iter().step_by(m);
    line.as_chunks_mut().0.iter_mut().zip(parts).for_each(|(part, products)| *part = *products);
}
