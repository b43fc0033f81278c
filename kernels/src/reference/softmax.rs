/// Softmax, or its logarithm, along the middle axis of `dims`, in f64.
pub fn softmax(x: &[f32], dims: [usize; 3], log: bool) -> Vec<f64> {
    let [outer, axis, inner] = dims;
    let mut y = vec![0.0; x.len()];
    for (o, i) in (0..outer).flat_map(|o| (0..inner).map(move |i| (o, i))) {
        let at = |step: usize| (o * axis + step) * inner + i;
        let row: Vec<f64> = (0..axis).map(|step| f64::from(x[at(step)])).collect();
        let max = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = row.iter().map(|x| (x - max).exp()).sum();
        for (step, x) in row.iter().enumerate() {
            y[at(step)] = if log { x - max - sum.ln() } else { (x - max).exp() / sum };
        }
    }
    y
}
