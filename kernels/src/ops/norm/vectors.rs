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
        for (row, (x, y)) in self.x.chunks_exact(cols).zip(y.chunks_exact_mut(cols)).enumerate() {
            match self.skip(row) {
                Some(skip) => add.map(x, skip, y),
                None => y.copy_from_slice(x),
            }
            if let Some(bias) = self.bias {
                add.map_in_place(y, bias);
            }
            self.write_sum(row, y);
            let [mean, variance] = moments_in_vectors(worker, norm.kind, y);
            let inv_std = (1.0 / (variance + f64::from(norm.epsilon)).sqrt()) as f32;
            let rounded = mean as f32;
            normalize.map(y, [rounded, (mean - f64::from(rounded)) as f32, inv_std], self.gamma, self.beta);
            self.write_moments(row, [rounded, inv_std]);
        }
    }
}

/// Mean (0 for RMS) and variance, or mean square, of a row.
fn moments_in_vectors(worker: &Worker<'_>, kind: NormKind, row: &[f32]) -> [f64; 2] {
    let count = row.len() as f64;
    let sums = |reduction, shift| vector::reduce(worker, reduction, row, shift).unwrap_or([f64::NAN; 2]);
    let mean = match kind {
        NormKind::Layer => sums(Reduction::Sum, 0.0)[0] / count,
        NormKind::Rms => 0.0,
    };
    [mean, sums(Reduction::Moments, mean)[1] / count]
}
