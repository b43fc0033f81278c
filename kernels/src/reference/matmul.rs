/// `A[m, k] x B[k, n]` in f64, row-major.
pub fn matmul(a: &[f32], b: &[f32], m: usize, k: usize, n: usize) -> Vec<f64> {
    let mut y = vec![0.0; m * n];
    for row in 0..m {
        for column in 0..n {
            for depth in 0..k {
                y[row * n + column] += f64::from(a[row * k + depth]) * f64::from(b[depth * n + column]);
            }
        }
    }
    y
}
