//! Products of the rows of a tile with blocks of keys and values by the matrix kernels of a chip. Rows of scores end with
//! the panel that has their last keys.

use super::Attention;
use super::operand::Block;
use crate::mem::Scratch;
use crate::ops::blocks::Blocks;
use crate::pack::Rows;
use crate::rt::Worker;
use crate::ukr::binary_f32::Function;
use crate::ukr::matmul_f32_f32_f32::MatMulF32F32F32;
use crate::vector;

/// The kernel and one rank's packed operands.
pub(super) struct Chip<'a> {
    blocks: Blocks<MatMulF32F32F32>,
    queries: &'a mut [f32],
    weights: &'a mut [f32],
    /// Keys or columns of values.
    panel: &'a mut [f32],
    /// Weighted values of a panel.
    sums: &'a mut [f32],
}

impl<'a> Chip<'a> {
    /// Elements of the queries, the weights, the panel and the sums of a tile of `rows` by `keys`.
    pub fn parts(blocks: Blocks<MatMulF32F32F32>, attention: &Attention, rows: usize, keys: usize) -> [usize; 4] {
        let head = attention.dims.head;
        [
            blocks.left_len(rows, head),
            blocks.left_len(rows, keys),
            blocks.panel_len(head.max(keys)),
            blocks.tile_rows(rows) * blocks.columns(),
        ]
    }

    pub fn new(blocks: Blocks<MatMulF32F32F32>, parts: [usize; 4], scratch: &mut Scratch<'a>) -> Self {
        let [queries, weights, panel, sums] = parts.map(|len| scratch.take(len));
        Self { blocks, queries, weights, panel, sums }
    }

    /// Packs the query rows of a tile, `[rows, head]`.
    pub fn take_queries(&mut self, worker: &Worker<'_>, queries: &[f32], [rows, head]: [usize; 2]) {
        self.blocks.pack_left(Some(worker), Rows::contiguous(queries, rows, head), self.queries);
    }

    /// `scores[r, t] = q[r] . k[t]` for `keys` rows of `head` elements; rows of scores are `pitch` apart.
    pub fn score(
        &mut self,
        worker: &Worker<'_>,
        k: &Block<'_>,
        [rows, head, keys]: [usize; 3],
        scores: &mut [f32],
        pitch: usize,
    ) {
        let Self { blocks, queries, panel, .. } = self;
        let all = Rows { data: k.data, rows: keys, k: head, strides: k.strides };
        let panel = &mut panel[..blocks.panel_len(head)];
        for first in (0..keys).step_by(blocks.columns()) {
            blocks.pack_right(Some(worker), all.part(first, blocks.columns().min(keys - first)), panel);
            blocks.multiply_into(worker, queries, panel, [rows, head], &mut scores[first..], pitch);
        }
    }

    /// `acc[r] += sum_t weights[r, t] * v[t]` for `keys` rows of `width` elements; rows of weights are `pitch` apart.
    pub fn add_values(
        &mut self,
        worker: &Worker<'_>,
        v: &Block<'_>,
        [rows, keys, width]: [usize; 3],
        (weights, pitch): (&[f32], usize),
        acc: &mut [f32],
    ) {
        let Self { blocks, weights: packed, panel, sums, .. } = self;
        blocks.pack_left(Some(worker), Rows { data: weights, rows, k: keys, strides: [pitch, 1] }, packed);
        let all = Rows { data: v.data, rows: width, k: keys, strides: [v.strides[1], v.strides[0]] };
        let panel = &mut panel[..blocks.panel_len(keys)];
        let add = vector::Binary::new(worker, Function::Add);
        for first in (0..width).step_by(blocks.columns()) {
            let columns = blocks.columns().min(width - first);
            blocks.pack_right(Some(worker), all.part(first, columns), panel);
            blocks.multiply(worker, packed, panel, [rows, keys], sums);
            for (acc, sums) in acc.chunks_exact_mut(width).zip(sums.chunks_exact(blocks.columns())) {
                let (acc, sums) = (&mut acc[first..first + columns], &sums[..columns]);
                match &add {
                    Some(add) => add.map_in_place(acc, sums),
                    None => acc.iter_mut().zip(sums).for_each(|(acc, sum)| *acc += sum),
                }
            }
        }
    }
}
