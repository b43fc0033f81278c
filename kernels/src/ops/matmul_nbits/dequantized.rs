//! The products of f32 rows with panels of a chip's layout, which are written out in f32 a piece after the other.

use std::ops::Range;

use super::left::{STRIP, chunks};
use super::piece::Piece;
use crate::driver::RunError;
use crate::mem::Scratch;
use crate::ops::blocks::Blocks;
use crate::pack::{NBitsBlocks, NBitsLayout, NBitsShape, NBitsWeights, PackLayout, Rows};
use crate::rt::Worker;
use crate::ukr::binary_f32::Function;
use crate::ukr::matmul_f32_f32_f32::MatMulF32F32F32;
use crate::vector;

const LAYOUT: NBitsLayout = NBitsLayout::Packed(PackLayout::I8P32X1);
/// Columns of a panel.
const PANEL: usize = PackLayout::I8P32X1.panel();
/// Rows and columns of a piece of a weight, whole groups.
const PIECE: [usize; 2] = [128, PANEL];

/// Rows as the micro-kernel reads them, those of a piece of the weight after those of the piece before.
pub(crate) struct DequantizedProducts<'a> {
    blocks: Blocks<MatMulF32F32F32>,
    k: usize,
    rows: usize,
    left: &'a mut [f32],
    piece: Piece<'a>,
    /// The piece in f32.
    right: &'a mut [f32],
    /// Its products.
    products: &'a mut [f32],
}

impl<'a> DequantizedProducts<'a> {
    /// Bytes of scratch that [`DequantizedProducts::prepare`] needs for `rows` rows.
    pub fn scratch(blocks: Blocks<MatMulF32F32F32>, shape: &NBitsShape, rows: usize) -> usize {
        Scratch::bytes::<f32>(blocks.left_len(rows, shape.k()))
            + Piece::scratch(PIECE)
            + Scratch::bytes::<f32>(PIECE[0] * PANEL)
            + Scratch::bytes::<f32>(blocks.tile_rows(rows) * PANEL)
    }

    /// Packs `a`, which has rows of the weight's `k`.
    pub fn prepare(blocks: Blocks<MatMulF32F32F32>, shape: &NBitsShape, a: &[f32], scratch: &mut Scratch<'a>) -> Self {
        let (k, rows) = (shape.k(), a.len() / shape.k());
        let products = Self {
            blocks,
            k,
            rows,
            left: scratch.take(blocks.left_len(rows, k)),
            piece: Piece::new(LAYOUT, *shape, PIECE, scratch),
            right: scratch.take(PIECE[0] * PANEL),
            products: scratch.take(blocks.tile_rows(rows) * PANEL),
        };
        for depth in chunks(0..k, PIECE[0]) {
            let part = Rows { data: &a[depth.start..], rows, k: depth.len(), strides: [k, 1] };
            blocks.pack_left(None, part, &mut products.left[blocks.left_len(rows, depth.start)..]);
        }
        products
    }

    /// Columns of panel `panel`, the tile's `index`th.
    pub fn multiply(
        &mut self,
        worker: &Worker<'_>,
        weights: &NBitsWeights,
        panel: usize,
        index: usize,
        tile: &mut [f32],
    ) -> Result<(), RunError> {
        let panel = weights.blocks(LAYOUT, panel)?;
        let add = vector::Binary::new(worker, Function::Add);
        for (groups, depth) in self.piece.pieces().zip(chunks(0..self.k, PIECE[0])) {
            self.piece.unpack(worker, &panel, 0, groups.clone());
            self.dequantize(worker, &panel, groups, depth.len());
            let (rows, k) = (self.rows, depth.len());
            let left = &self.left[self.blocks.left_len(rows, depth.start)..];
            self.blocks.multiply(worker, left, &self.right[..k * PANEL], [rows, k], self.products);
            let lines = tile[index * PANEL..].chunks_mut(STRIP);
            for (line, products) in lines.zip(self.products.chunks(PANEL).take(rows)) {
                let line = &mut line[..PANEL];
                match &add {
                    _ if depth.start == 0 => line.copy_from_slice(products),
                    Some(add) => add.map_in_place(line, products),
                    None => line.iter_mut().zip(products).for_each(|(sum, product)| *sum += product),
                }
            }
        }
        Ok(())
    }

    /// Writes the first `rows` rows of the piece with these groups in f32.
    fn dequantize(&mut self, worker: &Worker<'_>, panel: &NBitsBlocks<'_>, groups: Range<usize>, rows: usize) {
        let len = self.piece.group() * PANEL;
        let codes = &self.piece.codes(0, groups.len())[..rows * PANEL];
        for ((group, codes), y) in groups.zip(codes.chunks(len)).zip(self.right.chunks_mut(len)) {
            let columns = group * PANEL..(group + 1) * PANEL;
            let (scales, y) = (&panel.scales[columns.clone()], &mut y[..codes.len()]);
            let zero_points = panel.zero_points.map(|zero_points| &zero_points[columns]);
            if vector::dequantize(worker, codes, scales, zero_points, y) {
                continue;
            }
            for (y, codes) in y.chunks_mut(PANEL).zip(codes.chunks(PANEL)) {
                for (column, (y, code)) in y.iter_mut().zip(codes).enumerate() {
                    let zero_point = zero_points.map_or(0.0, |zero_points| zero_points[column]);
                    *y = (f32::from(*code) - zero_point) * scales[column];
                }
            }
        }
    }
}
