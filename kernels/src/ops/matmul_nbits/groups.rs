//! The products of rows that are quantised to int8 with panels of a chip's layout.

use std::ops::Range;
use std::slice::Chunks;

use bytemuck::Pod;
use smallvec::SmallVec;

use super::left::{STRIP, chunks};
use super::piece::Piece;
use super::quantized::{DEPTH, QuantizedRows};
use crate::driver::RunError;
use crate::mem::Scratch;
use crate::pack::{NBitsBlocks, NBitsLayout, NBitsPanels, NBitsShape, NBitsWeights};
use crate::rt::Worker;
use crate::select;
use crate::table::{Armed, Family, MatMulSpec, Variant};
use crate::ukr::matmul_nbits::{Args, MatMulNBits};
use crate::ukr::prefetch;

/// Columns of a piece of the weight, whole panels: with [`DEPTH`] rows, a quarter of K1's first cache, in which they stay while
/// all rows come by.
const COLUMNS: usize = 32;
/// Blocks of rows during which the next piece is asked for: what came earlier would have to leave the first cache for the rows.
const ASKING: usize = 4;

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

/// Some panels that rows are multiplied with, and the groups of a piece of them.
struct Pass<'a> {
    all: NBitsPanels<'a>,
    panels: Range<usize>,
    groups: Range<usize>,
}

/// The piece of one panel.
struct Columns<'a> {
    codes: &'a [i8],
    scales: &'a [f32],
    zero_points: Option<&'a [f32]>,
}

/// Scales of the columns of a piece.
fn parameters_len(spec: &MatMulSpec, shape: &NBitsShape) -> usize {
    DEPTH / NBitsLayout::Packed(spec.layout).group(shape) * COLUMNS * spec.column_copies()
}

/// The order of the weights that `variant` reads.
pub(super) fn layout<F: Family<Spec = MatMulSpec>>(variant: &Variant<F>) -> NBitsLayout {
    NBitsLayout::Packed(variant.spec.layout)
}

impl<'a> GroupProducts<'a> {
    /// Bytes of scratch that [`GroupProducts::prepare`] needs for `rows` rows.
    pub fn scratch(variant: &Variant<MatMulNBits>, shape: &NBitsShape, rows: usize) -> usize {
        Piece::scratch([DEPTH, COLUMNS])
            + 2 * Scratch::bytes::<f32>(parameters_len(&variant.spec, shape))
            + QuantizedRows::scratch(&variant.spec, shape, rows)
            + Scratch::bytes::<f32>(rows.next_multiple_of(variant.spec.tile.m) * COLUMNS)
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
            piece: Piece::new(layout, *shape, [DEPTH, COLUMNS], scratch),
            scales: scratch.take(parameters_len(spec, shape)),
            zero_points: scratch.take(parameters_len(spec, shape)),
            left: QuantizedRows::quantize(worker, spec, shape, a, scratch),
            products: scratch.take((a.len() / shape.k()).next_multiple_of(spec.tile.m) * COLUMNS),
        }
    }

    /// Columns of `panels`, side by side in `tile`. Rows meet each piece of some panels while it is in the first cache.
    pub fn multiply(
        &mut self,
        worker: &Worker<'_>,
        weights: &NBitsWeights,
        panels: Range<usize>,
        tile: &mut [f32],
    ) -> Result<(), RunError> {
        let (kernel, panel) = (select::arm(self.variant, worker), self.variant.spec.layout.panel());
        let all = weights.panels(layout(self.variant))?;
        for some in chunks(panels.clone(), COLUMNS / panel) {
            let tile = &mut tile[(some.start - panels.start) * panel..];
            for groups in self.piece.pieces() {
                for (index, panel) in some.clone().enumerate() {
                    self.piece.unpack(worker, &all.get(panel), index, groups.clone());
                    self.put_parameters(&all.get(panel), index, &groups);
                }
                self.multiply_piece(&kernel, &Pass { all, panels: some.clone(), groups }, tile);
            }
        }
        Ok(())
    }

    /// Adds the products of all rows with a piece to those that there are. After the last one they go to `tile`.
    fn multiply_piece(&mut self, kernel: &Armed<'_, MatMulNBits>, pass: &Pass<'_>, tile: &mut [f32]) {
        let (groups, spec, turns) = (&pass.groups, &self.variant.spec, self.left.blocks().count());
        let mut ahead = [0, 1].map(|index| self.ahead(pass, index, turns.min(ASKING)));
        let of_panel = |index| {
            let (codes, copied) = (self.piece.codes(index, groups.len()), copied(spec, groups, index));
            let zero_points = pass.all.has_zero_points().then(|| &self.zero_points[copied.clone()]);
            Columns { codes, scales: &self.scales[copied], zero_points }
        };
        let columns: SmallVec<[_; 2]> = (0..pass.panels.len()).map(of_panel).collect();
        for (turn, block) in self.left.blocks().enumerate() {
            if turn + ASKING >= turns {
                ahead.iter_mut().for_each(Ahead::ask);
            }
            let rows = self.left.block(&block, groups);
            let len = rows.rows * spec.layout.panel();
            let first = block.start * spec.layout.panel() * columns.len();
            let products = &mut self.products[first..first + len * columns.len()];
            if groups.start == 0 {
                products.fill(0.0);
            }
            for (columns, c) in columns.iter().zip(products.chunks_exact_mut(len)) {
                let args = Args {
                    a: rows.codes.as_ptr(),
                    b: columns.codes.as_ptr(),
                    a_scales: rows.scales.as_ptr(),
                    a_sums: rows.sums.as_ptr(),
                    b_scales: columns.scales.as_ptr(),
                    b_zero_points: columns.zero_points.map_or(std::ptr::null(), <[f32]>::as_ptr),
                    c: c.as_mut_ptr(),
                    groups: groups.len(),
                    k_groups: self.k_groups,
                    rows: rows.rows,
                };
                // SAFETY: the slices have these groups of a block's rows and of the columns, and `c` is ours alone.
                unsafe { kernel.call(&args) };
            }
            if groups.end == self.piece.groups() {
                store(spec, products, len, &mut tile[block.start * STRIP..], block.len());
            }
        }
    }

    /// Copies the scales and zero points of these groups of the `index`th panel.
    fn put_parameters(&mut self, blocks: &NBitsBlocks<'_>, index: usize, groups: &Range<usize>) {
        let (columns, copied) = (self.columns(groups), copied(&self.variant.spec, groups, index));
        let parameters = [(Some(blocks.scales), &mut *self.scales), (blocks.zero_points, &mut *self.zero_points)];
        for (from, to) in parameters {
            let Some(from) = from.map(|from| &from[columns.clone()]) else { continue };
            match self.variant.spec.tile.n {
                4 => repeat::<2, 2>(from, &mut to[copied.clone()]),
                _ => repeat::<16, 1>(from, &mut to[copied.clone()]),
            }
        }
    }

    /// Parameters of these groups of a panel.
    fn columns(&self, groups: &Range<usize>) -> Range<usize> {
        let panel = self.variant.spec.layout.panel();
        groups.start * panel..groups.end * panel
    }

    /// What follows on the `index`th panel of a pass, in so many parts: its next piece, or the first one of a panel to come.
    fn ahead<'w>(&self, pass: &Pass<'w>, index: usize, parts: usize) -> Ahead<'w> {
        let Pass { all, panels, groups } = pass;
        let (panel, first) = match groups.end < self.piece.groups() {
            true => (panels.start + index, groups.end),
            false => (panels.end + index, 0),
        };
        if index >= panels.len() || panel >= all.len() {
            return Ahead([[].chunks(1), [].chunks(1), [].chunks(1)]);
        }
        let next = first..(first + groups.len()).min(self.piece.groups());
        let (blocks, columns) = (all.get(panel), self.columns(&next));
        let zero_points = blocks.zero_points.map_or(&[][..], |zero_points| &zero_points[columns.clone()]);
        let (scales, zero_points) = (bytemuck::cast_slice(&blocks.scales[columns]), bytemuck::cast_slice(zero_points));
        let of = [&blocks.codes[self.piece.packed(&next)], scales, zero_points];
        Ahead(of.map(|bytes: &'w [u8]| bytes.chunks(bytes.len().div_ceil(parts).max(1))))
    }
}

/// Copies of the parameters of these groups of the `index`th panel, among those of a piece.
fn copied(spec: &MatMulSpec, groups: &Range<usize>, index: usize) -> Range<usize> {
    let len = groups.len() * spec.layout.panel() * spec.column_copies();
    index * len..(index + 1) * len
}

/// Writes `rows` rows of `products`, `len` of each panel, to `tile`, from `[panel][row of tiles][tile][m][n]`.
fn store(spec: &MatMulSpec, products: &[f32], len: usize, tile: &mut [f32], rows: usize) {
    let panel = spec.layout.panel();
    for (index, products) in products.chunks(len).enumerate() {
        let lines = tile.chunks_mut(STRIP).take(rows).map(|line| &mut line[index * panel..][..panel]);
        match (spec.tile.m, spec.tile.n) {
            (4, 4) => gather::<4, 2>(products, lines),
            _ => gather::<1, 16>(products, lines),
        }
    }
}

/// What is unpacked next of a panel, in parts.
struct Ahead<'w>([Chunks<'w, u8>; 3]);

impl Ahead<'_> {
    /// Asks for the next part.
    fn ask(&mut self) {
        self.0.iter_mut().flat_map(Iterator::next).for_each(prefetch);
    }
}

/// `C` copies of each `W` pairs of numbers.
fn repeat<const W: usize, const C: usize>(from: &[f32], to: &mut [f32])
where
    [u64; W]: Pod,
    [[u64; W]; C]: Pod,
{
    let (from, to): (&[[u64; W]], &mut [[[u64; W]; C]]) = (bytemuck::cast_slice(from), bytemuck::cast_slice_mut(to));
    to.iter_mut().zip(from).for_each(|(to, from)| *to = [*from; C]);
}

/// Writes `lines`, rows of neighbouring tiles of `M` rows by `W` pairs of columns.
fn gather<'a, const M: usize, const W: usize>(products: &[f32], lines: impl Iterator<Item = &'a mut [f32]>)
where
    [u64; W]: Pod,
{
    let parts: &[[u64; W]] = bytemuck::cast_slice(products);
    for (row, line) in lines.enumerate() {
        let line: &mut [[u64; W]] = bytemuck::cast_slice_mut(line);
        let first = row / M * M * line.len() + row % M;
        line.iter_mut().zip(parts[first..].iter().step_by(M)).for_each(|(part, products)| *part = *products);
    }
}
