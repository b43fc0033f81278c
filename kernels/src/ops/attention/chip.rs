//! A tile by the kernels of a chip. Its query rows stand side by side, [`COLUMNS`] in a panel, and scores have a row for each key:
//! largest scores and sums are those of columns, for which no register has to be folded, and what the exponentials leave is the right-hand
//! side of their product with the values. So the sums are `[value_head, COLUMNS]` a panel until all keys are through.

use super::floats::Floats;
use super::halves::Halves;
use super::online::{SLACK, columns_exp, columns_max, finite_base, softcap};
use super::operand::Operand;
use super::tile::{Tile, Unit};
use super::{Attention, ScoreStage};
use crate::mem::Scratch;
use crate::ops::blocks::Blocks;
use crate::pack::Rows;
use crate::rt::Worker;
use crate::ukr::binary_f32::Function;
use crate::ukr::matmul_f32_f32_f32::MatMulF32F32F32;
use crate::vector::{self, COLUMNS};

/// Rows that a block of scores is filled up to a multiple of.
pub(super) const PADDING: usize = 8;

/// Keys of the unit's head: the first one, and how many.
pub(super) type Keys = (usize, usize);

/// What multiplies panels by blocks of keys and of their values.
pub(super) trait Products {
    /// Packs the rows of the panel that begins with row `first`.
    fn take_queries(&mut self, worker: &Worker<'_>, first: usize, rows: Rows<'_, f32>, scale: f32);

    fn take_keys(&mut self, worker: &Worker<'_>, unit: &Unit, k: &Operand<'_>, keys: Keys);

    fn take_values(&mut self, worker: &Worker<'_>, unit: &Unit, v: &Operand<'_>, keys: Keys);

    /// `scores[t, c] = scale * k[t] . q[c]` for the panel that begins with row `first` and so many keys; more rows are written.
    fn score(&mut self, worker: &Worker<'_>, first: usize, keys: usize, scores: &mut [f32]);

    /// `acc[w, c] = sum_t v[t, w] * weights[t, c]`, or added to `acc`, for so many keys; weights up to [`PADDING`] rows are 0.
    fn add(&mut self, worker: &Worker<'_>, keys: usize, weights: &[f32], acc: &mut [f32], accumulate: bool);
}

/// The kernels, and one rank's operands in their order.
pub(super) struct Chip<'a> {
    /// What turns rows to columns.
    blocks: Blocks<MatMulF32F32F32>,
    products: Kind<'a>,
    /// Sums of a panel, or terms of a bias.
    turned: &'a mut [f32],
}

enum Kind<'a> {
    Floats(Floats<'a>),
    Halves(Halves<'a>),
}

impl<'a> Kind<'a> {
    fn get(&mut self) -> &mut (dyn Products + 'a) {
        match self {
            Self::Floats(floats) => floats,
            Self::Halves(halves) => halves,
        }
    }
}

impl<'a> Chip<'a> {
    fn turned(attention: &Attention) -> usize {
        let terms = if attention.biases.is_empty() { 0 } else { attention.most_keys() };
        COLUMNS * terms.max(attention.dims.value_head)
    }

    /// Bytes of scratch.
    pub fn scratch(attention: &Attention) -> usize {
        let products = match attention.halves() {
            Some(blocks) => Halves::scratch(attention, blocks),
            None => Floats::scratch(attention),
        };
        products + Scratch::bytes::<f32>(Self::turned(attention))
    }

    pub fn new(blocks: Blocks<MatMulF32F32F32>, attention: &Attention, scratch: &mut Scratch<'a>) -> Self {
        let products = match attention.halves() {
            Some(blocks) => Kind::Halves(Halves::new(attention, blocks, scratch)),
            None => Kind::Floats(Floats::new(attention, blocks, scratch)),
        };
        Self { blocks, products, turned: scratch.take(Self::turned(attention)) }
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
            if let Self { worker, v, chip: Some(chip), .. } = self {
                chip.products.get().take_values(worker, unit, v, keys);
            }
            let next = start + keys.1;
            self.k.prefetch(unit, self.attention.dims.head, (next, block.min(unit.keys.end - next)));
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
        let (at, k) = (&attention.q, attention.dims.head);
        for first in (0..unit.rows()).step_by(COLUMNS) {
            let data = if k == 0 { &[] } else { &q[at.at(unit.batch, unit.head, unit.first + first)..] };
            let rows = Rows { data, rows: COLUMNS.min(unit.rows() - first), k, strides: [at.row, at.col] };
            chip.products.get().take_queries(worker, first, rows, attention.scale);
        }
    }

    pub(super) fn pack_keys(&mut self, unit: &Unit, keys: Keys) {
        if let Self { worker, k, chip: Some(chip), .. } = self {
            chip.products.get().take_keys(worker, unit, k, keys);
        }
    }

    /// Whether one of the rows of a panel sees one of the keys.
    fn sees(&self, unit: &Unit, first: usize, (start, keys): Keys) -> bool {
        let last = (first + COLUMNS).min(unit.rows()) - 1;
        let [from, to] = [first, last].map(|row| self.attention.visible(unit.span, unit.first + row));
        from.start < start + keys && start < to.end
    }

    /// Folds the keys into the rows of the panel that begins with row `first`.
    fn fold(&mut self, unit: &Unit, first: usize, keys: Keys) {
        self.score_panel(unit, first, keys, ScoreStage::Biased);
        let Self { attention, worker, scores, acc, max, sum, chip: Some(chip), .. } = self else { return };
        let (width, keys) = (attention.dims.value_head, keys.1);
        let scores = &mut scores[..keys.next_multiple_of(PADDING) * COLUMNS];
        scores[keys * COLUMNS..].fill(f32::NEG_INFINITY);
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
        chip.products.get().add(worker, keys, scores, acc, !is_first);
    }

    /// Leaves in `scores` those of a panel: a row for each key.
    pub(super) fn score_panel(&mut self, unit: &Unit, first: usize, keys: Keys, stage: ScoreStage) {
        let Self { attention, worker, scores, chip: Some(chip), .. } = self else { return };
        chip.products.get().score(worker, first, keys.1, scores);
        if attention.softcap != 0.0 && stage >= ScoreStage::Capped {
            softcap(worker, &mut scores[..keys.1 * COLUMNS], attention.softcap);
        }
        if stage >= ScoreStage::Biased {
            self.add_biases(unit, first, keys);
            self.hide(unit, first, keys);
        }
    }

    fn add_biases(&mut self, unit: &Unit, first: usize, (start, keys): Keys) {
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
    fn hide(&mut self, unit: &Unit, first: usize, (start, keys): Keys) {
        let inside = |key: usize| key.saturating_sub(start).min(keys);
        for column in 0..COLUMNS.min(unit.rows() - first) {
            let visible = self.attention.visible(unit.span, unit.first + first + column);
            for key in (0..inside(visible.start)).chain(inside(visible.end)..keys) {
                self.scores[key * COLUMNS + column] = f32::NEG_INFINITY;
            }
        }
    }

    /// Makes the sums of panels rows; where no key was seen, they are 0.
    fn turn(&mut self, unit: &Unit) {
        let Self { attention, worker, acc, max, chip: Some(chip), .. } = self else { return };
        let width = attention.dims.value_head;
        for first in (0..unit.rows()).step_by(COLUMNS) {
            let acc = &mut acc[first * width..][..COLUMNS * width];
            if max[first..][..COLUMNS].iter().all(|&max| max == f32::NEG_INFINITY) {
                acc.fill(0.0);
                continue;
            }
            let turned = &mut chip.turned[..COLUMNS * width];
            chip.blocks.pack_block(worker, Rows::contiguous(acc, width, COLUMNS), turned);
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
