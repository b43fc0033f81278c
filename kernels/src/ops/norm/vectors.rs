use super::{NormKind, Rows};
use crate::rt::Worker;
use crate::ukr::binary_f32::Function;
use crate::ukr::prefetch;
use crate::ukr::reduce_f32::Reduction;
use crate::ukr::reduce_rows_f32::RowReduction;
use crate::vector::{Binary, Normalize, ROWS, Reduce, ReduceRows, rows_together};

/// Where what is left of the mean is less than this times the deviation, it changes no result by a quarter of a unit in its last
/// place.
const NEGLIGIBLE: f32 = 1.0 / (1 << 26) as f32;

/// The kernels of a norm on a worker whose core has vectors.
pub(super) struct Vectors<'w> {
    kind: NormKind,
    /// Rows that are normalised together.
    together: usize,
    add: Binary<'w>,
    rows: ReduceRows<'w>,
    /// The same sums of one row.
    sums: Reduce<'w>,
    normalize: Normalize<'w>,
}

impl<'w> Vectors<'w> {
    pub fn new(worker: &Worker<'w>, kind: NormKind, cols: usize) -> Option<Self> {
        let (rows, sums) = match kind {
            NormKind::Layer => (RowReduction::Moments, Reduction::Moments),
            NormKind::Rms => (RowReduction::Squares, Reduction::LaneSquares),
        };
        let (rows, sums) = (ReduceRows::new(worker, rows)?, Reduce::new(worker, sums)?);
        let (add, together) = (Binary::new(worker, Function::Add)?, rows_together(worker, cols));
        Some(Self { kind, together, add, rows, sums, normalize: Normalize::new(worker)? })
    }

    /// The mean (0 for RMS), what it lacks for having been rounded, and the inverse deviation of rows of `cols` numbers.
    fn moments(&self, rows: &[f32], cols: usize, epsilon: f64, moments: &mut [[f32; 3]]) {
        let mut sums = [[0.0; 2]; ROWS];
        let sums = &mut sums[..moments.len()];
        let are_known = sums.len() > 1 && self.rows.of(rows, cols, sums);
        for ((row, sums), moments) in rows.chunks_exact(cols).zip(sums).zip(moments) {
            let sums = if are_known { sums.map(f64::from) } else { self.lone(row) };
            let [mean, variance] = self.mean(row, sums);
            let inv_std = (1.0 / (variance + epsilon).sqrt()) as f32;
            let rounded = mean as f32;
            let residue = (mean - f64::from(rounded)) as f32;
            *moments = [rounded, if (residue * inv_std).abs() < NEGLIGIBLE { 0.0 } else { residue }, inv_std];
        }
    }

    /// The sums of a row that is alone, or too long for one kernel call.
    fn lone(&self, row: &[f32]) -> [f64; 2] {
        match self.kind {
            NormKind::Layer => self.sums.sums(row, row[0]),
            NormKind::Rms => [0.0, self.sums.sums(row, 0.0)[0]],
        }
    }

    /// Mean (0 for RMS) and variance, or mean square, of a row that is not empty. The sums are of differences to the first of the row's
    /// numbers; where that is so far from the mean that taking the mean's square off loses digits, they are summed again from the
    /// mean.
    fn mean(&self, row: &[f32], [sum, squares]: [f64; 2]) -> [f64; 2] {
        let share = 1.0 / row.len() as f64;
        if self.kind == NormKind::Rms {
            return [0.0, squares * share];
        }
        let around = |[sum, squares]: [f64; 2]| {
            let difference = sum * share;
            (difference, squares * share - difference * difference)
        };
        let (mut shift, (mut difference, mut variance)) = (row[0], around([sum, squares]));
        if difference * difference > 4.0 * variance {
            shift = (f64::from(shift) + difference) as f32;
            (difference, variance) = around(self.sums.sums(row, shift));
        }
        [f64::from(shift) + difference, if variance < 0.0 { 0.0 } else { variance }]
    }
}

impl Rows<'_> {
    /// The rows on a core with vectors.
    pub(super) fn run_in_vectors(mut self, vectors: &Vectors<'_>) {
        let (norm, cols) = (self.norm, self.norm.cols);
        if cols == 0 {
            return;
        }
        let y = std::mem::take(&mut self.y);
        let is_sum = norm.skip_rows.is_some() || self.bias.is_some();
        let together = vectors.together;
        for (group, y) in y.chunks_mut(together * cols).enumerate() {
            let first = group * together;
            let x = &self.x[first * cols..];
            prefetch(&x[y.len()..x.len().min(2 * y.len())]);
            let x = &x[..y.len()];
            if is_sum {
                self.add_up(vectors, first, x, y);
            }
            let t = if is_sum { &*y } else { x };
            t.chunks_exact(cols).enumerate().for_each(|(row, t)| self.write_sum(first + row, t));
            let mut moments = [[0.0; 3]; ROWS];
            let moments = &mut moments[..y.len() / cols];
            vectors.moments(t, cols, norm.epsilon.into(), moments);
            let weights = [self.gamma, self.beta];
            match is_sum {
                true => vectors.normalize.map_in_place(y, moments, weights),
                false => vectors.normalize.map(x, y, moments, weights),
            }
            let moments = moments.iter().enumerate();
            moments.for_each(|(row, &[mean, _, inv_std])| self.write_moments(first + row, [mean, inv_std]));
        }
    }

    /// `y = x + skip + bias` for rows from row `first` on.
    fn add_up(&self, vectors: &Vectors<'_>, first: usize, x: &[f32], y: &mut [f32]) {
        let cols = self.norm.cols;
        for (row, (x, y)) in x.chunks_exact(cols).zip(y.chunks_exact_mut(cols)).enumerate() {
            match (self.skip(first + row), self.bias) {
                (Some(skip), _) => vectors.add.map(x, skip, y),
                (None, Some(bias)) => vectors.add.map(x, bias, y),
                (None, None) => (),
            }
            if let (Some(_), Some(bias)) = (self.norm.skip_rows, self.bias) {
                vectors.add.map_in_place(y, bias);
            }
        }
    }
}
