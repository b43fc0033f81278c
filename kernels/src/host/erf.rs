use rten_simd::ops::{BitOps, FloatOps, NumOps};
use rten_simd::{Isa, SimdUnaryOp};
use rten_vecmath::Exp;

/// The error function, with a small relative error everywhere (`rten-vecmath`'s has a small absolute one, too
/// inexact near zero).
///
/// Minimax polynomials: `erf(x) = x + x * P(x^2)` up to [`SPLIT`], `erf(x) = 1 - exp(-x * Q(x) - Q0)` beyond.
#[derive(Default)]
pub(crate) struct Erf;

const SPLIT: f32 = 0.925;

/// Beyond it `erf` rounds to 1.
const SATURATED: f32 = 4.0;

/// Coefficients of `P`, lowest power first; fitted to `erf(x) / x - 1` on `[0, SPLIT]`.
const P: [f32; 7] =
    [0.128_379_17, -0.376_126_35, 0.112_836_93, -0.026_859_231, 0.005_200_615_6, -0.000_813_795_9, 8.349_984e-5];

/// Coefficients of `Q0 + x * Q(x)`, lowest power first; fitted to `-ln(1 - erf(x))` on `[SPLIT, SATURATED]`.
const Q: [f32; 8] = [
    -0.000_173_343_05,
    1.129_508_5,
    0.633_359_97,
    0.108_265_67,
    -0.025_110_088,
    0.004_167_512_5,
    -0.000_433_729_15,
    2.103_156e-5,
];

impl SimdUnaryOp<f32> for Erf {
    #[inline(always)]
    fn eval<I: Isa>(&self, isa: I, x: I::F32) -> I::F32 {
        let ops = isa.f32();
        let magnitude = ops.abs(x);
        let square = ops.mul(x, x);
        let near = ops.mul_add(x, horner(isa, square, &P), x);

        // Clamped by `select` with the saturated side as the fallback, so that NaN goes through `near`.
        let large = ops.min(magnitude, ops.splat(SATURATED));
        let far = ops.sub(ops.one(), Exp::apply(isa, ops.neg(horner(isa, large, &Q))));
        let far = ops.select(ops.neg(far), far, ops.lt(x, ops.zero()));
        ops.select(far, near, ops.gt(magnitude, ops.splat(SPLIT)))
    }
}

#[inline(always)]
fn horner<I: Isa, const N: usize>(isa: I, x: I::F32, coefficients: &[f32; N]) -> I::F32 {
    let ops = isa.f32();
    let mut sum = ops.splat(coefficients[N - 1]);
    for &coefficient in coefficients[..N - 1].iter().rev() {
        sum = ops.mul_add(sum, x, ops.splat(coefficient));
    }
    sum
}

/// `x/2 * (1 + erf(x / sqrt(2)))`.
pub(crate) struct Gelu;

impl SimdUnaryOp<f32> for Gelu {
    #[inline(always)]
    fn eval<I: Isa>(&self, isa: I, x: I::F32) -> I::F32 {
        let ops = isa.f32();
        let erf = Erf.eval(isa, ops.mul(x, ops.splat(std::f32::consts::FRAC_1_SQRT_2)));
        ops.mul(ops.mul(x, ops.splat(0.5)), ops.add(erf, ops.one()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::erf::erf;

    #[test]
    fn erf_is_exact_to_two_units_in_the_last_place() {
        for i in 0..40_000 {
            let magnitude = 10f32.powf(i as f32 / 5_000.0 - 7.4);
            for x in [magnitude, -magnitude] {
                let want = erf(f64::from(x));
                let got = f64::from(Erf.scalar_eval(x));
                let unit = f64::from(f32::EPSILON) * want.abs();
                assert!((got - want).abs() <= 2.0 * unit, "erf({x}) = {got}, want {want}");
            }
        }
    }

    #[test]
    fn erf_has_the_right_limits() {
        for (x, want) in
            [(f32::INFINITY, 1.0), (f32::NEG_INFINITY, -1.0), (5.0, 1.0), (1e30, 1.0), (-1e-42, -1.128e-42)]
        {
            assert!((Erf.scalar_eval(x) - want).abs() <= f32::from_bits(1), "{x}");
        }
        assert!(Erf.scalar_eval(f32::NAN).is_nan());
        assert_eq!(Erf.scalar_eval(-0.0).to_bits(), (-0.0f32).to_bits());
    }
}
