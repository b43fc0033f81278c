/// One row normalised, its mean (0 when `rms`) and its inverse deviation, in f64.
pub fn normalize(x: &[f32], epsilon: f64, rms: bool) -> (Vec<f64>, f64, f64) {
    let count = x.len() as f64;
    let mean = if rms { 0.0 } else { x.iter().map(|&x| f64::from(x)).sum::<f64>() / count };
    let variance = x.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / count;
    let inv_std = 1.0 / (variance + epsilon).sqrt();
    (x.iter().map(|&x| (f64::from(x) - mean) * inv_std).collect(), mean, inv_std)
}
