//! A tile by the kernels of a chip. Its query rows stand side by side, [`COLUMNS`] in a panel, and scores have a row for each key:
//! largest scores and sums are those of columns, for which no register has to be folded, and what the exponentials leave is the right-hand
//! side of their product with the values as it is. So the sums are `[value_head, COLUMNS]` a panel until all keys are through.

use super::online::{SLACK, columns_exp, columns_max, finite_base, scale, softcap};
use super::tile::{Tile, Unit};
use super::{Attention, ScoreStage};
use crate::mem::Scratch;
use crate::ops::blocks::Blocks;
use crate::pack::Rows;
use crate::ukr::binary_f32::Function;
use crate::ukr::matmul_f32_f32_f32::MatMulF32F32F32;
use crate::vector::{self, COLUMNS, STEP};

/// The kernel, and one rank's operands in its order.
pub(super) struct Chip<'a> {
    blocks: Blocks<MatMulF32F32F32>,
    /// Scaled query rows, a panel after the other.
    queries: &'a mut [f32],
    /// A block of keys: a row for each element of a head.
    keys: &'a mut [f32],
    /// The same keys' values row by row, and before that keys that had to be unpacked.
    values: &'a mut [f32],
    /// Sums of a panel or terms of a bias, turned from rows to columns or back.
    turned: &'a mut [f32],
}

impl<'a> Chip<'a> {
    /// Elements of its parts that are scratch, in their order.
    pub fn parts(attention: &Attention) -> [usize; 4] {
        let (d, keys) = (&attention.dims, attention.most_keys());
        let terms = if attention.biases.is_empty() { 0 } else { keys };
        let values = keys * d.head.max(d.value_head);
        [attention.padded_rows() * d.head, keys * d.head, values, COLUMNS * terms.max(d.value_head)]
    }

    pub fn new(blocks: Blocks<MatMulF32F32F32>, parts: [usize; 4], scratch: &mut Scratch<'a>) -> Self {
        let [queries, keys, values, turned] = parts.map(|len| scratch.take(len));
        Self { blocks, queries, keys, values, turned }
    }
}

impl Tile<'_> {
    /// [`Tile::run`] by the kernels of a chip.
    pub(super) fn run_panels(&mut self, unit: &Unit) {
        self.pack_queries(unit);
        let block = self.attention.block_keys();
        for start in unit.keys.clone().step_by(block) {
            let keys = (start, block.min(unit.keys.end - start));
            self.pack_keys(unit, keys);
            self.pack_values(unit, keys);
            for first in (0..unit.rows()).step_by(COLUMNS) {
                if self.sees(unit, first, keys) {
                    self.fold(unit, first, keys);
                }
            }
        }
        self.turn(unit);
    }

    pub(super) fn pack_queries(&mut self, unit: &Unit) {
        let Self { attention, worker, q, chip: Some(chip), .. } = self else { return };
        let (at, head) = (&attention.q, attention.dims.head);
        for first in (0..unit.rows()).step_by(COLUMNS) {
            let data = if head == 0 { &[] } else { &q[at.at(unit.batch, unit.head, unit.first + first)..] };
            let rows = COLUMNS.min(unit.rows() - first);
            let panel = &mut chip.queries[first * head..][..COLUMNS * head];
            chip.blocks.pack_right(Some(worker), Rows { data, rows, k: head, strides: [at.row, at.col] }, panel);
            scale(worker, panel, attention.scale);
        }
    }

    pub(super) fn pack_keys(&mut self, unit: &Unit, (start, rows): (usize, usize)) {
        let Self { attention, worker, k, chip: Some(chip), .. } = self else { return };
        let head = attention.dims.head;
        let k = k.block(worker, unit, head, start, rows, chip.values);
        let rows = Rows { data: k.data, rows, k: head, strides: k.strides };
        chip.blocks.pack_block(worker, rows, &mut chip.keys[..rows.rows * head]);
    }

    fn pack_values(&mut self, unit: &Unit, (start, k): (usize, usize)) {
        let Self { attention, worker, v, chip: Some(chip), .. } = self else { return };
        let width = attention.dims.value_head;
        if attention.v.is_staged() {
            v.block(worker, unit, width, start, k, chip.values);
        } else {
            let v = v.block(worker, unit, width, start, k, &mut []);
            let rows = Rows { data: v.data, rows: width, k, strides: [v.strides[1], v.strides[0]] };
            chip.blocks.pack_block(worker, rows, &mut chip.values[..k * width]);
        }
    }

    /// Whether one of the rows of a panel sees one of the keys.
    fn sees(&self, unit: &Unit, first: usize, (start, keys): (usize, usize)) -> bool {
        let last = (first + COLUMNS).min(unit.rows()) - 1;
        let [from, to] = [first, last].map(|row| self.attention.visible(unit.span, unit.first + row));
        from.start < start + keys && start < to.end
    }

    /// Folds the keys into the rows of the panel that begins with row `first`.
    fn fold(&mut self, unit: &Unit, first: usize, keys: (usize, usize)) {
        self.score_panel(unit, first, keys, ScoreStage::Biased);
        let Self { attention, worker, scores, acc, max, sum, chip: Some(chip), .. } = self else { return };
        let (width, keys) = (attention.dims.value_head, keys.1);
        let rows = keys.next_multiple_of(STEP);
        scores[keys * COLUMNS..rows * COLUMNS].fill(f32::NEG_INFINITY);
        let scores = &mut scores[..rows * COLUMNS];
        let acc = &mut acc[first * width..][..COLUMNS * width];
        let max: &mut [f32; COLUMNS] = max[first..].first_chunk_mut().expect("a panel's rows");
        let is_first = max.iter().all(|&max| max == f32::NEG_INFINITY);
        let factors = rebase(max, columns_max(worker, scores, *max));
        let sums = columns_exp(worker, scores, max.map(finite_base));
        let before = sum[first..][..COLUMNS].iter_mut().zip(factors.unwrap_or([1.0; COLUMNS]));
        before.zip(sums).for_each(|((sum, factor), new)| *sum = *sum * factor + new);
        if let Some(factors) = factors.filter(|_| !is_first) {
            match vector::Binary::new(worker, Function::Mul) {
                Some(multiply) => acc.chunks_exact_mut(COLUMNS).for_each(|acc| multiply.map_in_place(acc, &factors)),
                None => acc.iter_mut().zip(factors.iter().cycle()).for_each(|(acc, factor)| *acc *= factor),
            }
        }
        let (values, scores) = (&chip.values[..keys * width], &scores[..keys * COLUMNS]);
        chip.blocks.multiply_block(worker, values, scores, [width, keys], acc, !is_first);
    }

    /// Leaves in `scores` those of a panel: a row for each key.
    pub(super) fn score_panel(&mut self, unit: &Unit, first: usize, (start, keys): (usize, usize), stage: ScoreStage) {
        let Self { attention, worker, scores, chip: Some(chip), .. } = self else { return };
        let head = attention.dims.head;
        let scores = &mut scores[..keys * COLUMNS];
        let panel = &chip.queries[first * head..][..COLUMNS * head];
        chip.blocks.multiply_block(worker, &chip.keys[..keys * head], panel, [keys, head], scores, false);
        if attention.softcap != 0.0 && stage >= ScoreStage::Capped {
            softcap(worker, scores, attention.softcap);
        }
        if stage >= ScoreStage::Biased {
            self.add_biases(unit, first, (start, keys));
            self.hide(unit, first, (start, keys));
        }
    }

    fn add_biases(&mut self, unit: &Unit, first: usize, (start, keys): (usize, usize)) {
        let Self { worker, scores, biases, chip: Some(chip), .. } = self else { return };
        let add = vector::Binary::new(worker, Function::Add);
        let add = |scores: &mut [f32], terms: &[f32]| match &add {
            Some(add) => add.map_in_place(scores, terms),
            None => scores.iter_mut().zip(terms.iter().cycle()).for_each(|(score, term)| *score += term),
        };
        // A bias may end where the sequence does.
        let k = unit.span.keys.saturating_sub(start).min(keys);
        for (bias, data) in biases.iter().filter(|_| k > 0) {
            let data = &data[bias.at(unit.batch, unit.head, unit.first + first) + start * bias.col..];
            let scores = &mut scores[..k * COLUMNS];
            if bias.row == 0 {
                let terms = (0..k).map(|key| data[key * bias.col]);
                let rows = scores.chunks_exact_mut(COLUMNS).zip(terms).filter(|(_, term)| *term != 0.0);
                rows.for_each(|(scores, term)| add(scores, &[term]));
                continue;
            }
            let rows = COLUMNS.min(unit.rows() - first);
            let terms = &mut chip.turned[..k * COLUMNS];
            chip.blocks.pack_right(Some(worker), Rows { data, rows, k, strides: [bias.row, bias.col] }, terms);
            add(scores, terms);
        }
    }

    /// Hides the keys that a row does not see.
    fn hide(&mut self, unit: &Unit, first: usize, (start, keys): (usize, usize)) {
        let inside = |key: usize| key.saturating_sub(start).min(keys);
        for column in 0..COLUMNS.min(unit.rows() - first) {
            let visible = self.attention.visible(unit.span, unit.first + first + column);
            for key in (0..inside(visible.start)).chain(inside(visible.end)..keys) {
                self.scores[key * COLUMNS + column] = f32::NEG_INFINITY;
            }
        }
    }

    /// Makes the sums of panels rows.
    fn turn(&mut self, unit: &Unit) {
        let Self { attention, worker, acc, chip: Some(chip), .. } = self else { return };
        let width = attention.dims.value_head;
        for first in (0..unit.rows()).step_by(COLUMNS) {
            let acc = &mut acc[first * width..][..COLUMNS * width];
            let turned = &mut chip.turned[..COLUMNS * width];
            let rows = Rows::contiguous(acc, width, COLUMNS);
            chip.blocks.pack_block(worker, rows, turned);
            acc.copy_from_slice(turned);
        }
    }
}

/// Raises the numbers that are subtracted from scores to the largest scores where those are too far above; returns what sums that are
/// there are multiplied with, if any was raised.
fn rebase(base: &mut [f32; COLUMNS], max: [f32; COLUMNS]) -> Option<[f32; COLUMNS]> {
    let mut factors = None;
    for (column, (base, max)) in base.iter_mut().zip(max).enumerate() {
        if max > *base + SLACK {
            factors.get_or_insert([1.0; COLUMNS])[column] = (*base - max).exp();
            *base = max;
        }
    }
    factors
}
