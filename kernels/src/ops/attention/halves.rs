//! Products of a tile in f16, by the matrix unit.

use half::f16;

use super::Attention;
use super::chip::{Keys, PADDING, Products};
use super::online::scale;
use super::operand::Operand;
use super::tile::Unit;
use crate::mem::Scratch;
use crate::ops::blocks::Blocks;
use crate::pack::Rows;
use crate::rt::Worker;
use crate::ukr::matmul_f16_f16_f32::MatMulF16F16F32;
use crate::ukr::tile_f16::TilesOf;
use crate::vector::{self, COLUMNS};

/// Rows and columns of what becomes tiles at a time.
const ROWS: usize = 8;
const WIDTH: usize = 64;
/// The least power of two that queries are scaled by: smaller numbers would lose digits in f16.
const LEAST: f32 = 1.0 / 64.0;

pub(super) struct Halves<'a> {
    blocks: Blocks<MatMulF16F16F32>,
    /// Elements of a key and of a value.
    widths: [usize; 2],
    /// Query rows times a power of two, a panel after the other, and what is left of the scale for each.
    queries: &'a mut [f16],
    scales: &'a mut [f32],
    keys: &'a mut [f16],
    values: &'a mut [f16],
    weights: &'a mut [f16],
    /// Queries of a panel row by row.
    rows: &'a mut [f32],
    /// Keys or values that had to be rounded.
    rounded: &'a mut [f16],
    /// The last rows of a block.
    last: &'a mut [f16],
}

impl<'a> Halves<'a> {
    /// Elements of its parts of f16 that are scratch, and of those of f32, in their order.
    fn parts(attention: &Attention, blocks: Blocks<MatMulF16F16F32>) -> ([usize; 6], [usize; 2]) {
        let (d, rows) = (&attention.dims, attention.padded_rows());
        let keys = attention.most_keys().next_multiple_of(PADDING);
        let staged = if attention.k.is_staged() && attention.v.is_staged() { 0 } else { keys };
        let halves = [
            rows * d.head,
            blocks.left_len(keys, d.head),
            blocks.left_len(d.value_head, keys),
            keys * COLUMNS,
            staged * d.head.max(d.value_head),
            ROWS * d.head.max(d.value_head),
        ];
        (halves, [rows / COLUMNS, COLUMNS * d.head])
    }

    /// Bytes of scratch.
    pub fn scratch(attention: &Attention, blocks: Blocks<MatMulF16F16F32>) -> usize {
        let (halves, floats) = Self::parts(attention, blocks);
        let halves: usize = halves.map(Scratch::bytes::<f16>).iter().sum();
        halves + floats.map(Scratch::bytes::<f32>).iter().sum::<usize>()
    }

    pub fn new(attention: &Attention, blocks: Blocks<MatMulF16F16F32>, scratch: &mut Scratch<'a>) -> Self {
        let (halves, floats) = Self::parts(attention, blocks);
        let [queries, keys, values, weights, rounded, last] = halves.map(|len| scratch.take(len));
        let [scales, rows] = floats.map(|len| scratch.take(len));
        let widths = [attention.dims.head, attention.dims.value_head];
        Self { blocks, widths, queries, scales, keys, values, weights, rows, rounded, last }
    }
}

impl Products for Halves<'_> {
    fn take_queries(&mut self, worker: &Worker<'_>, first: usize, rows: Rows<'_, f32>, factor: f32) {
        let Rows { data, rows: count, k, strides: [stride, step] } = rows;
        for (row, to) in self.rows.chunks_exact_mut(k).enumerate() {
            match (row < count, step) {
                (false, _) => to.fill(0.0),
                (true, 1) => to.copy_from_slice(&data[row * stride..][..k]),
                _ => to.iter_mut().zip(data[row * stride..].iter().step_by(step)).for_each(|(to, x)| *to = *x),
            }
        }
        // Exact but for what f16 has too few digits for.
        let power = f32::from_bits(factor.abs().to_bits() & f32::INFINITY.to_bits()).clamp(LEAST, 1.0);
        let power = power * vector::shrink(worker, self.rows, power);
        self.scales[first / COLUMNS] = factor / power;
        let panel = &mut self.queries[first * k..][..COLUMNS * k];
        for (group, rows) in self.rows.chunks_exact(ROWS * k).enumerate() {
            let tiles = &mut panel[group * ROWS * ROWS..];
            if !vector::pack_halves(worker, (rows, k, k), &[power; ROWS], tiles, COLUMNS * ROWS) {
                for (index, x) in rows.iter().enumerate() {
                    let (row, column) = (index / k, index % k);
                    tiles[column / ROWS * COLUMNS * ROWS + row * ROWS + column % ROWS] = f16::from_f32(x * power);
                }
            }
        }
    }

    fn take_keys(&mut self, worker: &Worker<'_>, unit: &Unit, k: &Operand<'_>, (start, count): Keys) {
        let (blocks, [head, _]) = (self.blocks, self.widths);
        let k = k.halves(worker, unit, head, (start, count), self.rounded);
        let packed = &mut self.keys[..blocks.left_len(count, head)];
        let tile = |first: usize, rows: vector::Rows<'_, f16>| {
            let (block, inside) = (first / blocks.grain() * blocks.grain(), first % blocks.grain());
            let height = blocks.tile_rows(blocks.grain().min(count - block));
            (0..head).step_by(WIDTH).all(|column| {
                let at = block * head + (column * height) + inside * ROWS;
                vector::tile(worker, TilesOf::Rows, (rows, column), &mut packed[at..], height * ROWS)
            })
        };
        if !each_group((k, count), self.last, tile) {
            let rows = Rows { data: k.data, rows: count, k: head, strides: [k.stride, 1] };
            blocks.pack_left(None, rows, packed);
        }
    }

    fn take_values(&mut self, worker: &Worker<'_>, unit: &Unit, v: &Operand<'_>, (start, count): Keys) {
        let (blocks, [_, width]) = (self.blocks, self.widths);
        let v = v.halves(worker, unit, width, (start, count), self.rounded);
        let depth = count.next_multiple_of(PADDING);
        let packed = &mut self.values[..blocks.left_len(width, count)];
        let tile = |first: usize, rows: vector::Rows<'_, f16>| {
            (0..width).step_by(WIDTH).all(|column| {
                let at = column * depth + first * blocks.grain();
                vector::tile(worker, TilesOf::Columns, (rows, column), &mut packed[at..], depth * blocks.grain())
            })
        };
        if !each_group((v, count), self.last, tile) {
            blocks.pack_left(None, Rows { data: v.data, rows: width, k: count, strides: [1, v.stride] }, packed);
        }
    }

    fn score(&mut self, worker: &Worker<'_>, first: usize, keys: usize, scores: &mut [f32]) {
        let (blocks, [head, _]) = (self.blocks, self.widths);
        let (packed, panel) = (&self.keys[..blocks.left_len(keys, head)], &self.queries[first * head..]);
        blocks.multiply_into(worker, packed, &panel[..COLUMNS * head], [keys, head], (scores, COLUMNS), false);
        let left = self.scales[first / COLUMNS];
        if left != 1.0 {
            scale(worker, &mut scores[..keys * COLUMNS], left);
        }
    }

    fn add(&mut self, worker: &Worker<'_>, keys: usize, weights: &[f32], acc: &mut [f32], accumulate: bool) {
        let (blocks, [_, width]) = (self.blocks, self.widths);
        let rounded = &mut self.weights[..weights.len()];
        if !vector::interleave(worker, weights, rounded) {
            for (index, x) in weights.iter().enumerate() {
                let (key, column) = (index / COLUMNS, index % COLUMNS);
                rounded[(key / ROWS * COLUMNS + column) * ROWS + key % ROWS] = f16::from_f32(*x);
            }
        }
        let values = &self.values[..blocks.left_len(width, keys)];
        blocks.multiply_into(worker, values, rounded, [width, keys], (acc, COLUMNS), accumulate);
    }
}

/// Calls `pack` with the first of each [`ROWS`] rows and them, of which `last` holds the last ones filled up with zeros, until it
/// returns `false`.
fn each_group(
    (rows, count): (vector::Rows<'_, f16>, usize),
    last: &mut [f16],
    mut pack: impl FnMut(usize, vector::Rows<'_, f16>) -> bool,
) -> bool {
    let whole = count - count % ROWS;
    let from = |first: usize| vector::Rows { data: &rows.data[first * rows.stride..], ..rows };
    if !(0..whole).step_by(ROWS).all(|first| pack(first, from(first))) {
        return false;
    }
    let last = &mut last[..ROWS * rows.width];
    last.fill(f16::ZERO);
    for (row, to) in last.chunks_exact_mut(rows.width).take(count - whole).enumerate() {
        to.copy_from_slice(&from(whole + row).data[..rows.width]);
    }
    whole == count || pack(whole, vector::Rows { data: last, stride: rows.width, width: rows.width })
}
