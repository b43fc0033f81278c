/// `softmax(scale * q.k^T + bias) . v` for one head in f64.
///
/// `q` is `[s, d]`, `k` `[t, d]`, `v` `[t, dv]`, `bias` `[s, t]`, all row-major. Rows whose softmax is undefined
/// come out NaN.
pub fn attention(q: &[f32], k: &[f32], v: &[f32], bias: &[f64], sizes: [usize; 4], scale: f64) -> Vec<f64> {
    let [queries, keys, head, value_head] = sizes;
    let mut out = Vec::with_capacity(queries * value_head);
    for s in 0..queries {
        let score = |t: usize| {
            let dot: f64 = (0..head).map(|i| f64::from(q[s * head + i]) * f64::from(k[t * head + i])).sum();
            dot * scale + bias[s * keys + t]
        };
        let scores: Vec<f64> = (0..keys).map(score).collect();
        let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = scores.iter().map(|x| (x - max).exp()).collect();
        let sum: f64 = weights.iter().sum();
        for j in 0..value_head {
            let dot: f64 = (0..keys).map(|t| weights[t] * f64::from(v[t * value_head + j])).sum();
            out.push(dot / sum);
        }
    }
    out
}
