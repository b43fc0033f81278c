//! The products of rows in f16 with panels of a chip's layout, each of which is written out in f16 once for all rows, where it can
//! be in the scratchpad. Else it stays in K3's second cache, which gives a line in 2.5 cycles; to add up the products of pieces
//! would cost more.
//!
//! Powers of two keep both sides within f16: the largest number of a row and the bound of a weight come between 2^14 and 2^15.

use std::ops::Range;

use half::f16;

use super::left::{STRIP, chunks};
use crate::driver::RunError;
use crate::mem::Scratch;
use crate::ops::blocks::Blocks;
use crate::pack::{NBitsBlocks, NBitsLayout, NBitsShape, NBitsWeights, PackLayout};
use crate::rt::Worker;
use crate::ukr::binary_f32::Function;
use crate::ukr::matmul_f16_f16_f32::MatMulF16F16F32;
use crate::ukr::prefetch;
use crate::ukr::reduce_f32::Reduction;
use crate::vector::{self, power_of_two};

const LAYOUT: NBitsLayout = NBitsLayout::Packed(PackLayout::I8P32X16);
/// Columns of a panel.
const PANEL: usize = PackLayout::I8P32X16.panel();
/// Rows of a panel that stand side by side in f16.
const K_GROUP: usize = PackLayout::F16P32X8.k_group();
/// Rows of a tile.
const TILE: usize = 8;

/// Rows as the micro-kernel reads them.
pub(crate) struct HalfProducts<'a> {
    blocks: Blocks<MatMulF16F16F32>,
    shape: NBitsShape,
    rows: usize,
    left: &'a mut [f16],
    /// What undoes the factor of each row.
    undo: &'a mut [f32],
    /// A panel in f16, with the rows that fill its last group up.
    right: &'a mut [f16],
    /// Products of all panels of a strip side by side.
    products: &'a mut [f32],
}

/// Numbers of a panel in f16.
fn right_len(shape: &NBitsShape) -> usize {
    LAYOUT.depth(shape) * PANEL
}

impl<'a> HalfProducts<'a> {
    /// Bytes of scratch that [`HalfProducts::prepare`] needs for `rows` rows.
    pub fn scratch(blocks: Blocks<MatMulF16F16F32>, shape: &NBitsShape, rows: usize) -> usize {
        Scratch::bytes::<f16>(blocks.left_len(rows, shape.k()))
            + Scratch::bytes::<f32>(rows)
            + Scratch::bytes::<f16>(right_len(shape))
            + Scratch::bytes::<f32>(blocks.tile_rows(rows) * STRIP)
    }

    /// Rounds and packs `a`, which has rows of the weight's `k`.
    pub fn prepare(
        worker: &Worker<'_>,
        blocks: Blocks<MatMulF16F16F32>,
        shape: &NBitsShape,
        a: &[f32],
        scratch: &mut Scratch<'a>,
    ) -> Self {
        let (k, rows) = (shape.k(), a.len() / shape.k());
        let mut products = Self {
            blocks,
            shape: *shape,
            rows,
            left: scratch.take(blocks.left_len(rows, k)),
            undo: scratch.take(rows),
            right: &mut [],
            products: scratch.take(blocks.tile_rows(rows) * STRIP),
        };
        let right = scratch.take(right_len(shape));
        // Twice as long as a tile of rows in f32.
        let padded: &mut [f32] = bytemuck::cast_slice_mut(right);
        for block in chunks(0..rows, blocks.grain()) {
            for tile in chunks(block.clone(), TILE) {
                prefetch(&a[tile.end * k..(tile.end + TILE).min(rows) * k]);
                let mut a = &a[tile.start * k..tile.end * k];
                let mut factors = [1.0; TILE];
                for ((row, a), factor) in tile.clone().zip(a.chunks(k)).zip(&mut factors) {
                    *factor = power_of_two(largest(worker, a));
                    products.undo[row] = factor.recip();
                }
                if tile.len() < TILE {
                    padded[..a.len()].copy_from_slice(a);
                    padded[a.len()..TILE * k].fill(0.0);
                    a = &padded[..TILE * k];
                }
                products.pack(worker, &block, tile.start, a, &factors);
            }
        }
        products.right = right;
        products
    }

    /// Packs the eight rows `a` of `block` from row `first` on, times `factors`.
    fn pack(&mut self, worker: &Worker<'_>, block: &Range<usize>, first: usize, a: &[f32], factors: &[f32; TILE]) {
        let (k, stride) = (self.shape.k(), self.blocks.tile_rows(block.len()) * K_GROUP);
        let y = &mut self.left[self.blocks.left_len(block.start, k) + (first - block.start) * K_GROUP..];
        if vector::pack_halves(worker, (a, k, k), factors, y, stride) {
            return;
        }
        for (group, row) in (0..k.div_ceil(K_GROUP)).flat_map(|group| (0..TILE).map(move |row| (group, row))) {
            let numbers = group * K_GROUP..((group + 1) * K_GROUP).min(k);
            let y = &mut y[group * stride + row * K_GROUP..][..K_GROUP];
            y[numbers.len()..].fill(f16::ZERO);
            let x = &a[row * k..][numbers];
            y.iter_mut().zip(x).for_each(|(y, x)| *y = f16::from_f32(x * factors[row]));
        }
    }

    /// Columns of `panels`, side by side in `tile`.
    pub fn multiply(
        &mut self,
        worker: &Worker<'_>,
        weights: &NBitsWeights,
        panels: Range<usize>,
        tile: &mut [f32],
    ) -> Result<(), RunError> {
        let (shape, factor) = ([self.rows, self.shape.k()], power_of_two(weights.bound()));
        for (index, panel) in panels.clone().enumerate() {
            self.dequantize(worker, &weights.blocks(LAYOUT, panel)?, factor);
            let right = &self.right[..self.blocks.panel_len(self.shape.k())];
            let to = &mut self.products[index * PANEL..];
            self.blocks.multiply_into(worker, self.left, right, shape, (to, STRIP), false);
        }
        self.store(worker, factor.recip(), panels.len() * PANEL, tile);
        Ok(())
    }

    /// Writes a panel in f16, times `factor`.
    fn dequantize(&mut self, worker: &Worker<'_>, blocks: &NBitsBlocks<'_>, factor: f32) {
        let &NBitsBlocks { codes, scales, zero_points } = blocks;
        let groups = vector::Groups { bits: LAYOUT.bits(&self.shape), codes, scales, zero_points };
        if !groups.dequantize(worker, factor, self.right) {
            dequantize(groups, LAYOUT.group(&self.shape), factor, self.right);
        }
    }

    /// Writes the products with so many columns to `tile`, without the factors; `undo` makes up for that of the columns.
    fn store(&self, worker: &Worker<'_>, undo: f32, columns: usize, tile: &mut [f32]) {
        let multiply = vector::Binary::new(worker, Function::Mul);
        let lines = tile.chunks_mut(STRIP).zip(self.products.chunks(STRIP)).zip(&*self.undo);
        for ((line, products), of_row) in lines {
            let (line, products, undo) = (&mut line[..columns], &products[..columns], undo * of_row);
            match &multiply {
                Some(multiply) => multiply.map(products, &[undo], line),
                None => line.iter_mut().zip(products).for_each(|(y, product)| *y = product * undo),
            }
        }
    }
}

/// The largest magnitude in `row`; that of NaN does not count.
fn largest(worker: &Worker<'_>, row: &[f32]) -> f32 {
    match vector::reduce(worker, Reduction::Extremes, row, 0.0) {
        Some([least, most]) => least.abs().max(most.abs()) as f32,
        None => row.iter().fold(0.0, |largest, x| largest.max(x.abs())),
    }
}

/// What [`crate::ukr::dequantize_nbits_f16`] does, for groups of `rows` rows.
fn dequantize(groups: vector::Groups<'_>, rows: usize, factor: f32, y: &mut [f16]) {
    let vector::Groups { bits, codes, scales, zero_points } = groups;
    let step = LAYOUT.step();
    let step_rows = step * 8 / bits;
    for (row, y) in y.chunks_mut(PANEL * K_GROUP).enumerate() {
        for (index, y) in y.iter_mut().enumerate() {
            let (row, column) = (row * K_GROUP + index % K_GROUP, index / K_GROUP);
            let byte = codes[(row / step_rows * PANEL + column) * step + row % step];
            let code = if bits == 8 {
                byte
            } else if row % step_rows < step {
                byte << 4
            } else {
                byte & 0xf0
            } as i8;
            let parameter = row / rows * PANEL + column;
            let scale = scales[parameter] * factor;
            let zero = f16::from_f32(zero_points.map_or(0.0, |zero_points| zero_points[parameter]) * scale);
            *y = f16::from_f32(f32::from(code).mul_add(f16::from_f32(scale).to_f32(), -zero.to_f32()));
        }
    }
}
