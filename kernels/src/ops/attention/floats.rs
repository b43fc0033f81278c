//! Products of a tile in f32.

use super::Attention;
use super::chip::{Keys, Products};
use super::online::scale;
use super::operand::Operand;
use super::tile::Unit;
use crate::mem::Scratch;
use crate::ops::blocks::Blocks;
use crate::pack::Rows;
use crate::rt::Worker;
use crate::ukr::matmul_f32_f32_f32::MatMulF32F32F32;
use crate::vector::COLUMNS;

pub(super) struct Floats<'a> {
    blocks: Blocks<MatMulF32F32F32>,
    /// Elements of a key and of a value.
    widths: [usize; 2],
    /// Scaled query rows, a panel after the other.
    queries: &'a mut [f32],
    /// A block of keys: a row for each element of a head.
    keys: &'a mut [f32],
    /// The same keys' values row by row, and before that keys that had to be unpacked.
    values: &'a mut [f32],
}

impl<'a> Floats<'a> {
    /// Elements of its parts that are scratch, in their order.
    fn parts(attention: &Attention) -> [usize; 3] {
        let (d, keys) = (&attention.dims, attention.most_keys());
        [attention.padded_rows() * d.head, keys * d.head, keys * d.head.max(d.value_head)]
    }

    /// Bytes of scratch.
    pub fn scratch(attention: &Attention) -> usize {
        Self::parts(attention).map(Scratch::bytes::<f32>).iter().sum()
    }

    pub fn new(attention: &Attention, blocks: Blocks<MatMulF32F32F32>, scratch: &mut Scratch<'a>) -> Self {
        let [queries, keys, values] = Self::parts(attention).map(|len| scratch.take(len));
        Self { blocks, widths: [attention.dims.head, attention.dims.value_head], queries, keys, values }
    }
}

impl Products for Floats<'_> {
    fn take_queries(&mut self, worker: &Worker<'_>, first: usize, rows: Rows<'_, f32>, factor: f32) {
        let panel = &mut self.queries[first * rows.k..][..COLUMNS * rows.k];
        self.blocks.pack_right(Some(worker), rows, panel);
        scale(worker, panel, factor);
    }

    fn take_keys(&mut self, worker: &Worker<'_>, unit: &Unit, k: &Operand<'_>, (start, rows): Keys) {
        let [head, _] = self.widths;
        let k = k.block(worker, unit, head, start, rows, self.values);
        let packed = &mut self.keys[..rows * head];
        self.blocks.pack_block(worker, Rows { data: k.data, rows, k: head, strides: k.strides }, packed);
    }

    fn take_values(&mut self, worker: &Worker<'_>, unit: &Unit, v: &Operand<'_>, (start, k): Keys) {
        let [_, rows] = self.widths;
        if v.is_staged() {
            v.block(worker, unit, rows, start, k, self.values);
        } else {
            let v = v.block(worker, unit, rows, start, k, &mut []);
            let columns = Rows { data: v.data, rows, k, strides: [v.strides[1], v.strides[0]] };
            self.blocks.pack_block(worker, columns, &mut self.values[..k * rows]);
        }
    }

    fn score(&mut self, worker: &Worker<'_>, first: usize, keys: usize, scores: &mut [f32]) {
        let [head, _] = self.widths;
        let panel = &self.queries[first * head..][..COLUMNS * head];
        self.blocks.multiply_block(worker, &self.keys[..keys * head], panel, [keys, head], scores, false);
    }

    fn add(&mut self, worker: &Worker<'_>, keys: usize, weights: &[f32], acc: &mut [f32], accumulate: bool) {
        let [_, width] = self.widths;
        let (values, weights) = (&self.values[..keys * width], &weights[..keys * COLUMNS]);
        self.blocks.multiply_block(worker, values, weights, [width, keys], acc, accumulate);
    }
}
