//! The products of rows that are quantised to int8 with panels of a chip's layout.

use std::ops::Range;
use std::slice::Chunks;

use super::left::STRIP;
use super::piece::Piece;
use super::quantized::QuantizedRows;
use crate::driver::RunError;
use crate::mem::Scratch;
use crate::pack::{NBitsBlocks, NBitsLayout, NBitsShape, NBitsWeights};
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
    /// Steps of a group.
    k_groups: usize,
    left: QuantizedRows<'a>,
    piece: Piece<'a>,
    /// Scales of the columns of a piece, in the copies of the variant, of one panel after the other.
    scales: &'a mut [f32],
    /// Zero points, as the scales.
    zero_points: &'a mut [f32],
    /// For each block of rows, `C` of one panel after the other.
    products: &'a mut [f32],
}

/// Scales of the columns of a piece of a strip.
fn parameters_len(spec: &MatMulSpec, shape: &NBitsShape) -> usize {
    Piece::ROWS / NBitsLayout::Packed(spec.layout).group(shape) * STRIP * spec.column_copies()
}

/// The order of the weights that `variant` reads.
pub(super) fn layout<F: Family<Spec = MatMulSpec>>(variant: &Variant<F>) -> NBitsLayout {
    NBitsLayout::Packed(variant.spec.layout)
}

impl<'a> GroupProducts<'a> {
    /// Bytes of scratch that [`GroupProducts::prepare`] needs for `rows` rows.
    pub fn scratch(variant: &Variant<MatMulNBits>, shape: &NBitsShape, rows: usize) -> usize {
        Piece::scratch(STRIP)
            + 2 * Scratch::bytes::<f32>(parameters_len(&variant.spec, shape))
            + QuantizedRows::scratch(&variant.spec, shape, rows)
            + Scratch::bytes::<f32>(rows.next_multiple_of(variant.spec.tile.m) * STRIP)
    }

    /// Quantises `a`, which has rows of the weight's `k`, in the groups of the weight.
    pub fn prepare(
        worker: &Worker<'_>,
        variant: &'static Variant<MatMulNBits>,
        shape: &NBitsShape,
        a: &[f32],
        scratch: &mut Scratch<'a>,
    ) -> Self {
        let (layout, spec) = (layout(variant), &variant.spec);
        Self {
            variant,
            k_groups: layout.group(shape) / spec.tile.k,
            piece: Piece::new(layout, *shape, STRIP, scratch),
            scales: scratch.take(parameters_len(spec, shape)),
            zero_points: scratch.take(parameters_len(spec, shape)),
            left: QuantizedRows::quantize(worker, spec, shape, a, scratch),
            products: scratch.take((a.len() / shape.k()).next_multiple_of(spec.tile.m) * STRIP),
        }
    }

    /// Columns of `panels`, side by side in `tile`. Rows meet each piece of all panels while they are in the first cache.
    pub fn multiply(
        &mut self,
        worker: &Worker<'_>,
        weights: &NBitsWeights,
        panels: Range<usize>,
        tile: &mut [f32],
    ) -> Result<(), RunError> {
        let (layout, kernel) = (layout(self.variant), select::arm(self.variant, worker));
        let mut all = [None; STRIP / FEWEST_COLUMNS];
        for (blocks, panel) in all.iter_mut().zip(panels.clone()) {
            *blocks = Some(weights.blocks(layout, panel)?);
        }
        for groups in self.piece.pieces() {
            for (index, blocks) in all.iter().flatten().enumerate() {
                self.piece.unpack(worker, blocks, index, groups.clone());
                self.put_parameters(blocks, index, &groups);
            }
            let turns = self.left.blocks().count();
            let mut ahead = all.map(|blocks| Some(self.ahead(&blocks?, groups.end, turns)));
            for block in self.left.blocks() {
                ahead.iter_mut().flatten().for_each(Ahead::ask);
                if groups.start == 0 {
                    self.products_of(&block, panels.len()).fill(0.0);
                }
                for (index, blocks) in all.iter().flatten().enumerate() {
                    let args = self.args(blocks, [index, panels.len()], &block, &groups);
                    // SAFETY: `args` has slices with these groups of a block's rows and of the columns, and `products` is ours
                    // alone.
                    unsafe { kernel.call(&args) };
                }
                if groups.end == self.piece.groups() {
                    self.store(&block, panels.len(), tile);
                }
            }
        }
        Ok(())
    }

    /// Copies the scales and zero points of these groups of the `index`th panel.
    fn put_parameters(&mut self, blocks: &NBitsBlocks<'_>, index: usize, groups: &Range<usize>) {
        let (columns, copied) = (self.columns(groups), self.copied(index, groups));
        let parameters = [(Some(blocks.scales), &mut *self.scales), (blocks.zero_points, &mut *self.zero_points)];
        for (from, to) in parameters {
            let Some(from) = from.map(|from| &from[columns.clone()]) else { continue };
            match self.variant.spec.tile.n {
                4 => repeat::<4>(from, &mut to[copied.clone()]),
                _ => repeat::<32>(from, &mut to[copied.clone()]),
            }
        }
    }

    /// Parameters of these groups of a panel.
    fn columns(&self, groups: &Range<usize>) -> Range<usize> {
        let panel = self.variant.spec.layout.panel();
        groups.start * panel..groups.end * panel
    }

    /// Their copies among those of a piece, for the `index`th panel.
    fn copied(&self, index: usize, groups: &Range<usize>) -> Range<usize> {
        let numbers = self.variant.spec.layout.panel() * self.variant.spec.column_copies();
        let first = index * Piece::ROWS / self.piece.group() * numbers;
        first..first + groups.len() * numbers
    }

    /// The piece of a panel that begins with group `first`, in `turns` parts; none behind the last one.
    fn ahead<'w>(&self, blocks: &NBitsBlocks<'w>, first: usize, turns: usize) -> Ahead<'w> {
        let next = first..(first + Piece::ROWS / self.piece.group()).min(self.piece.groups());
        let (codes, scales) = (&blocks.codes[self.piece.packed(&next)], &blocks.scales[self.columns(&next)]);
        Ahead {
            codes: codes.chunks(codes.len().div_ceil(turns).max(1)),
            scales: scales.chunks(scales.len().div_ceil(turns).max(1)),
        }
    }

    /// Arguments for the rows of `block` and these groups of the `index`th of `count` panels.
    fn args(
        &mut self,
        blocks: &NBitsBlocks<'_>,
        [index, count]: [usize; 2],
        block: &Range<usize>,
        groups: &Range<usize>,
    ) -> Args {
        let (left, panel) = (self.left.block(block, groups), self.variant.spec.layout.panel());
        let (copied, has_zero_points) = (self.copied(index, groups), blocks.zero_points.is_some());
        let zero_points = has_zero_points.then(|| &self.zero_points[copied.clone()]);
        let products = &mut self.products[(block.start * count + index * left.rows) * panel..][..left.rows * panel];
        Args {
            a: left.codes.as_ptr(),
            b: self.piece.codes(index, groups.len()).as_ptr(),
            a_scales: left.scales.as_ptr(),
            a_sums: left.sums.as_ptr(),
            b_scales: self.scales[copied].as_ptr(),
            b_zero_points: zero_points.map_or(std::ptr::null(), <[f32]>::as_ptr),
            c: products.as_mut_ptr(),
            groups: groups.len(),
            k_groups: self.k_groups,
            rows: left.rows,
        }
    }

    /// The products of `block` with `count` panels.
    fn products_of(&mut self, block: &Range<usize>, count: usize) -> &mut [f32] {
        let columns = count * self.variant.spec.layout.panel();
        &mut self.products[block.start * columns..][..self.left.width(block) * columns]
    }

    /// Writes the products of `block` with `count` panels to its rows of `tile`, from `[panel][row of tiles][tile][m][n]`.
    fn store(&self, block: &Range<usize>, count: usize, tile: &mut [f32]) {
        let (spec, panel) = (&self.variant.spec, self.variant.spec.layout.panel());
        let (m, n, len) = (spec.tile.m, spec.tile.n, self.left.width(block) * panel);
        let products = &self.products[block.start * count * panel..][..len * count];
        for (row, line) in tile[block.start * STRIP..block.end * STRIP].chunks_mut(STRIP).enumerate() {
            for (line, products) in line.chunks_mut(panel).zip(products.chunks(len)) {
                let products = &products[row / m * panel * m + row % m * n..];
                match n {
                    4 => gather::<4>(products, m, line),
                    _ => gather::<32>(products, m, line),
                }
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

/// Each `N` numbers as often as there is room for all.
fn repeat<const N: usize>(from: &[f32], to: &mut [f32]) {
    let (from, to) = (from.as_chunks::<N>().0, to.as_chunks_mut::<N>().0);
    let times = to.len() / from.len();
    to.chunks_mut(times).zip(from).for_each(|(to, from)| to.fill(*from));
}

/// Writes a row of neighbouring tiles of `m` rows by `N` columns, whose part of the first tile `products` begins with.
fn gather<const N: usize>(products: &[f32], m: usize, line: &mut [f32]) {
    let parts = products.as_chunks::<N>().0.iter().step_by(m);
    line.as_chunks_mut().0.iter_mut().zip(parts).for_each(|(part, products)| *part = *products);
}
