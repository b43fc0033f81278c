use super::{NormKind, Rows};
use crate::rt::Worker;
use crate::ukr::binary_f32::Function;
use crate::ukr::prefetch;
use crate::ukr::reduce_f32::Reduction;
use crate::vector::{Binary, Normalize, Reduce};

/// The kernels of a norm on a worker whose core has vectors.
pub(super) struct Vectors<'w> {
    kind: NormKind,
    add: Binary<'w>,
    sums: Reduce<'w>,
    normalize: Normalize<'w>,
}

impl<'w> Vectors<'w> {
    pub fn new(worker: &Worker<'w>, kind: NormKind) -> Option<Self> {
        let reduction = match kind {
            NormKind::Layer => Reduction::Moments,
            NormKind::Rms => Reduction::LaneSquares,
        };
        let (add, sums) = (Binary::new(worker, Function::Add)?, Reduce::new(worker, reduction)?);
        Some(Self { kind, add, sums, normalize: Normalize::new(worker)? })
    }

    /// Mean (0 for RMS) and variance, or mean square, of a row that is not empty, for `share` of a row of its length. The sums are
    /// of differences to one of the row's numbers; where that is so far from the mean that taking the mean's square off loses
    /// digits, they are summed again from the mean.
    fn moments(&self, row: &[f32], share: f64) -> [f64; 2] {
        if self.kind == NormKind::Rms {
            return [0.0, self.sums.sums(row, 0.0)[0] * share];
        }
        let around = |shift: f32| {
            let [sum, squares] = self.sums.sums(row, shift);
            let difference = sum * share;
            (difference, squares * share - difference * difference)
        };
        let (mut shift, (mut difference, mut variance)) = (row[0], around(row[0]));
        if difference * difference > 4.0 * variance {
            shift = (f64::from(shift) + difference) as f32;
            (difference, variance) = around(shift);
        }
        [f64::from(shift) + difference, if variance < 0.0 { 0.0 } else { variance }]
    }
}

/// Where what is left of the mean is less than this times the deviation, it changes no result by a quarter of a unit in its last
/// place.
const NEGLIGIBLE: f32 = 1.0 / (1 << 26) as f32;

impl Rows<'_> {
    /// The rows on a core with vectors.
    pub(super) fn run_in_vectors(mut self, vectors: &Vectors<'_>) {
        let (norm, cols) = (self.norm, self.norm.cols);
        if cols == 0 {
            return;
        }
        let y = std::mem::take(&mut self.y);
        let is_sum = norm.skip_rows.is_some() || self.bias.is_some();
        let share = 1.0 / cols as f64;
        for (row, y) in y.chunks_exact_mut(cols).enumerate() {
            let x = &self.x[row * cols..];
            prefetch(&x[cols..x.len().min(2 * cols)]);
            let x = &x[..cols];
            match (self.skip(row), self.bias) {
                (Some(skip), _) => vectors.add.map(x, skip, y),
                (None, Some(bias)) => vectors.add.map(x, bias, y),
                (None, None) => (),
            }
            if let (Some(_), Some(bias)) = (norm.skip_rows, self.bias) {
                vectors.add.map_in_place(y, bias);
            }
            let t = if is_sum { &*y } else { x };
            self.write_sum(row, t);
            let [mean, variance] = vectors.moments(t, share);
            let inv_std = (1.0 / (variance + f64::from(norm.epsilon)).sqrt()) as f32;
            let rounded = mean as f32;
            let residue = (mean - f64::from(rounded)) as f32;
            let residue = if (residue * inv_std).abs() < NEGLIGIBLE { 0.0 } else { residue };
            let (moments, weights) = ([rounded, residue, inv_std], [self.gamma, self.beta]);
            match is_sum {
                true => vectors.normalize.map_in_place(y, moments, weights),
                false => vectors.normalize.map(x, y, moments, weights),
            }
            self.write_moments(row, [rounded, inv_std]);
        }
    }
}
