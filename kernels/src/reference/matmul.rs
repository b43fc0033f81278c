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

/// `x/2 (1 + erf(x/sqrt 2))`, with erf as its Taylor series for small and its continued fraction for large arguments.
pub fn gelu(x: f64) -> f64 {
    0.5 * x * (1.0 + erf(x / std::f64::consts::SQRT_2))
}

/// Abramowitz and Stegun 7.1.5 below 3, 7.1.14 above.
fn erf(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    let z = x.abs();
    if z < 3.0 {
        let (mut term, mut sum) = (z, z);
        for n in 1..100 {
            term *= -z * z / f64::from(n);
            sum += term / f64::from(2 * n + 1);
        }
        return (2.0 / std::f64::consts::PI.sqrt() * sum).copysign(x);
    }
    let fraction = (1..60).rev().fold(z, |fraction, n| z + f64::from(n) / 2.0 / fraction);
    (1.0 - (-z * z).exp() / (fraction * std::f64::consts::PI.sqrt())).copysign(x)
}

/// `(A[m, k] - az) x (B[k, n] - bz)` in i64, row-major; `az` is asked for each row, `bz` for each column.
pub fn matmul_int(
    a: &[i32],
    b: &[i32],
    [m, k, n]: [usize; 3],
    az: impl Fn(usize) -> i32,
    bz: impl Fn(usize) -> i32,
) -> Vec<i64> {
    let mut y = vec![0; m * n];
    for row in 0..m {
        for column in 0..n {
            for depth in 0..k {
                let left = i64::from(a[row * k + depth]) - i64::from(az(row));
                y[row * n + column] += left * (i64::from(b[depth * n + column]) - i64::from(bz(column)));
            }
        }
    }
    y
}
