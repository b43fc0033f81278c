use super::*;
use crate::reference::erf::erf;
use crate::testing::run_one;

/// Magnitudes from denormals to the largest floats, dense where functions bend, with both signs.
fn inputs() -> Vec<f32> {
    let dense = (-4000..=4000).map(|i| i as f32 / 160.0);
    let wide = (-170..=154).flat_map(|e| [1.0f32, -1.0].map(|sign| sign * 10f64.powf(f64::from(e) / 4.0) as f32));
    dense.chain(wide).collect()
}

fn run(op: UnaryOp, x: &[f32]) -> Vec<f32> {
    run_one(Unary::new(op, x.len()), 3, &[bytemuck::cast_slice(x)], x.len()).unwrap()
}

/// Compares with `f` in f64. The error may be `units` of the last place of the result, plus as many of `magnitude(x)`
/// where a formula cancels.
fn check(op: UnaryOp, units: f64, magnitude: impl Fn(f64) -> f64, f: impl Fn(f64) -> f64) {
    let x = inputs();
    for (&x, got) in x.iter().zip(run(op, &x)) {
        let x = f64::from(x);
        let want = f(x);
        // What f32 cannot represent becomes infinite or vanishes.
        let (got, rounded) = (f64::from(got), f64::from(want as f32));
        let error = units * (f64::from(f32::EPSILON) * (want.abs() + magnitude(x)) + f64::from(f32::MIN_POSITIVE));
        let same = got == rounded || (got.is_nan() && want.is_nan()) || (got - want).abs() <= error;
        assert!(same, "{op:?} of {x}: {got}, want {want}");
    }
}

fn exact(_: f64) -> f64 {
    0.0
}

fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

#[test]
fn piecewise_linear_functions() {
    check(UnaryOp::Abs, 0.0, exact, f64::abs);
    check(UnaryOp::Neg, 0.0, exact, |x| -x);
    check(UnaryOp::Relu, 0.0, exact, |x| x.max(0.0));
    check(UnaryOp::Ceil, 0.0, exact, f64::ceil);
    check(UnaryOp::Floor, 0.0, exact, f64::floor);
    check(UnaryOp::Round, 0.0, exact, f64::round_ties_even);
    check(UnaryOp::Sign, 0.0, exact, |x| if x == 0.0 { 0.0 } else { x.signum() });
    check(UnaryOp::LeakyRelu { alpha: 0.1 }, 1.0, exact, |x| if x < 0.0 { f64::from(0.1f32) * x } else { x });
    check(UnaryOp::ThresholdedRelu { alpha: 1.5 }, 0.0, exact, |x| if x > 1.5 { x } else { 0.0 });
    check(UnaryOp::HardSigmoid { alpha: 0.25, beta: 0.5 }, 1.0, exact, |x| (x / 4.0 + 0.5).clamp(0.0, 1.0));
    check(UnaryOp::HardSwish, 1.0, f64::abs, |x| x * (x / 6.0 + 0.5).clamp(0.0, 1.0));
}

#[test]
fn algebraic_functions() {
    check(UnaryOp::Sqrt, 1.0, exact, f64::sqrt);
    check(UnaryOp::Reciprocal, 1.0, exact, |x| 1.0 / x);
    check(UnaryOp::Softsign, 1.0, exact, |x| x / (1.0 + x.abs()));
}

#[test]
fn exponential_functions() {
    check(UnaryOp::Exp, 2.0, exact, f64::exp);
    check(UnaryOp::Sigmoid, 4.0, exact, sigmoid);
    check(UnaryOp::Swish { alpha: 1.0 }, 5.0, exact, |x| if x < -1e4 { 0.0 } else { x * sigmoid(x) });
    check(UnaryOp::Swish { alpha: 1.5 }, 5.0, |x| x * x * sigmoid(1.5 * x), |x| x * sigmoid(1.5 * x));
    check(UnaryOp::Tanh, 3.0, exact, f64::tanh);
    check(UnaryOp::Log, 1.0, exact, f64::ln);
    check(UnaryOp::Softplus, 2.0, exact, softplus);
    check(UnaryOp::Mish, 4.0, exact, |x| x * softplus(x).tanh());
    check(UnaryOp::Elu { alpha: 2.0 }, 2.0, exact, |x| if x < 0.0 { 2.0 * x.exp_m1() } else { x });
    check(UnaryOp::Celu { alpha: 2.0 }, 2.0, exact, |x| if x < 0.0 { 2.0 * (x / 2.0).exp_m1() } else { x });
    check(UnaryOp::Selu { alpha: 1.5, gamma: 1.25 }, 3.0, exact, |x| 1.25 * if x > 0.0 { x } else { 1.5 * x.exp_m1() });
}

#[test]
fn gelus() {
    // `1 + tanh` and `1 + erf` cancel for negative `x`: the error is relative to `x`.
    check(UnaryOp::GeluTanh, 3.0, f64::abs, |x| {
        let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3));
        x / 2.0 * (1.0 + inner.tanh())
    });
    check(UnaryOp::Gelu, 2.0, f64::abs, |x| x / 2.0 * (1.0 + erf(x * std::f64::consts::FRAC_1_SQRT_2)));
    check(UnaryOp::Erf, 2.0, exact, erf);
}

#[test]
fn trigonometric_functions() {
    check(UnaryOp::Sin, 1.0, exact, f64::sin);
    check(UnaryOp::Cos, 1.0, exact, f64::cos);
    check(UnaryOp::Tan, 2.0, exact, f64::tan);
    check(UnaryOp::Asin, 1.0, exact, f64::asin);
    check(UnaryOp::Acos, 1.0, exact, f64::acos);
    check(UnaryOp::Atan, 1.0, exact, f64::atan);
    check(UnaryOp::Sinh, 2.0, exact, f64::sinh);
    check(UnaryOp::Cosh, 2.0, exact, f64::cosh);
    check(UnaryOp::Asinh, 2.0, exact, f64::asinh);
    check(UnaryOp::Acosh, 2.0, exact, f64::acosh);
    check(UnaryOp::Atanh, 2.0, exact, f64::atanh);
}

#[test]
fn nan_stays_nan() {
    use UnaryOp::*;
    for op in [Relu, Abs, Sign, Sigmoid, Tanh, Erf, Exp, Softplus, HardSwish, Gelu, GeluTanh, Mish, Round, Floor, Neg]
        .into_iter()
        .chain([
            HardSigmoid { alpha: 0.2, beta: 0.5 },
            Elu { alpha: 1.0 },
            LeakyRelu { alpha: 0.1 },
            Swish { alpha: 1.0 },
        ])
    {
        for position in [0, 1, 16, 18] {
            let mut x = [0.5; 19];
            x[position] = f32::NAN;
            let got = run(op, &x);
            assert!(got.iter().enumerate().all(|(i, y)| y.is_nan() == (i == position)), "{op:?} {got:?}");
        }
    }
}

#[test]
fn infinities_and_empty_input() {
    let limits = |op| <[f32; 2]>::try_from(run(op, &[f32::NEG_INFINITY, f32::INFINITY])).unwrap();
    assert_eq!(limits(UnaryOp::Exp), [0.0, f32::INFINITY]);
    assert_eq!(limits(UnaryOp::Sigmoid), [0.0, 1.0]);
    assert_eq!(limits(UnaryOp::Tanh), [-1.0, 1.0]);
    assert_eq!(limits(UnaryOp::Softplus), [0.0, f32::INFINITY]);
    assert_eq!(limits(UnaryOp::Elu { alpha: 1.0 }), [-1.0, f32::INFINITY]);
    assert_eq!(run(UnaryOp::Relu, &[]), [0f32; 0]);
}
