use super::{NormKind, Rows};
use crate::rt::Worker;
use crate::ukr::reduce_f32::Reduction;
use crate::vector;

impl Rows<'_> {
    /// The rows on a core with vectors.
    pub(super) fn run_in_vectors(
        mut self,
        worker: &Worker<'_>,
        add: &vector::Binary<'_>,
        normalize: &vector::Normalize<'_>,
    ) {
        let (norm, cols) = (self.norm, self.norm.cols);
        if cols == 0 {
            return;
        }
        let y = std::mem::take(&mut self.y);
        let is_sum = norm.skip_rows.is_some() || self.bias.is_some();
        for (row, (x, y)) in self.x.chunks_exact(cols).zip(y.chunks_exact_mut(cols)).enumerate() {
            match (self.skip(row), self.bias) {
                (Some(skip), _) => add.map(x, skip, y),
                (None, Some(bias)) => add.map(x, bias, y),
                (None, None) => (),
            }
            if let (Some(_), Some(bias)) = (norm.skip_rows, self.bias) {
                add.map_in_place(y, bias);
            }
            let t = if is_sum { &*y } else { x };
            self.write_sum(row, t);
            let [mean, variance] = moments_in_vectors(worker, norm.kind, t);
            let inv_std = (1.0 / (variance + f64::from(norm.epsilon)).sqrt()) as f32;
            let rounded = mean as f32;
            let (moments, weights) = ([rounded, (mean - f64::from(rounded)) as f32, inv_std], [self.gamma, self.beta]);
            match is_sum {
                true => normalize.map_in_place(y, moments, weights),
                false => normalize.map(x, y, moments, weights),
            }
            self.write_moments(row, [rounded, inv_std]);
        }
    }
}

/// Mean (0 for RMS) and variance, or mean square, of a row that is not empty. The sums are of differences to one of the row's
/// numbers, which is no farther from the mean than the deviation times the root of the row's length: in f64 nothing that
/// counts cancels.
fn moments_in_vectors(worker: &Worker<'_>, kind: NormKind, row: &[f32]) -> [f64; 2] {
    let count = row.len() as f64;
    let sums = |reduction| vector::reduce(worker, reduction, row, row[0]).unwrap_or([f64::NAN; 2]);
    match kind {
        NormKind::Layer => {
            let [sum, squares] = sums(Reduction::Moments);
            let difference = sum / count;
            let variance = (squares - sum * difference) / count;
            [f64::from(row[0]) + difference, if variance < 0.0 { 0.0 } else { variance }]
        }
        NormKind::Rms => [0.0, sums(Reduction::Squares)[0] / count],
    }
}
