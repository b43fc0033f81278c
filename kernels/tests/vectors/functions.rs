//! Functions of one number and of two.

use kernels::reference::erf::erf;
use kernels::table::{BINARY_F32, UNARY_F32, Variant};
use kernels::ukr::unary_f32::UnaryF32;
use kernels::ukr::{binary_f32, unary_f32};

use crate::grid::{self, Guarded, call, each};
use crate::{lengths, numbers, ulps};

fn unary(function: unary_f32::Function, x: f64, alpha: f64, beta: f64) -> f64 {
    use unary_f32::Function::*;
    let sigmoid = |x: f64| if x >= 0.0 { 1.0 / (1.0 + (-x).exp()) } else { x.exp() / (1.0 + x.exp()) };
    match function {
        Abs => x.abs(),
        Clip => x.max(alpha).min(beta),
        Erf => erf(x),
        Exp => x.exp(),
        Gelu => x * normal_below(x),
        GeluTanh => x * sigmoid(2.0 * (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x)),
        LeakyRelu => {
            if x < 0.0 {
                alpha * x
            } else {
                x
            }
        }
        Neg => -x,
        Reciprocal => 1.0 / x,
        Relu => {
            if x < 0.0 {
                0.0
            } else {
                x
            }
        }
        Sigmoid => sigmoid(x),
        Sqrt => x.sqrt(),
        Swish => x * sigmoid(alpha * x),
        Tanh => x.tanh(),
    }
}

/// The normal distribution function: `erfc(-x/sqrt 2)/2`, by a continued fraction where that would cancel.
fn normal_below(x: f64) -> f64 {
    if x > -2.0 {
        return 0.5 * (1.0 + erf(x * std::f64::consts::FRAC_1_SQRT_2));
    }
    let fraction = (1..=120).rev().fold(0.0, |rest, k| f64::from(k) / (-x + rest));
    (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt() / (-x + fraction)
}

/// Units in the last place by which a function may err: 1.3 for an exponential with an argument in two parts, half a unit for every
/// other rounding of what the result is a product, quotient or sum of.
fn most_units(function: unary_f32::Function) -> f64 {
    match function {
        // Nine steps of two polynomials whose terms are all positive, their coefficients, two products, a quotient.
        unary_f32::Function::Gelu => 1.3 + 9.0 * 0.5 + 2.0 * 0.5 + 3.0 * 0.5,
        unary_f32::Function::GeluTanh | unary_f32::Function::Swish => 1.3 + 4.0 * 0.5,
        unary_f32::Function::Erf | unary_f32::Function::Sigmoid | unary_f32::Function::Tanh => 1.3 + 3.0 * 0.5,
        _ => 2.0,
    }
}

#[test]
fn functions_of_one_number_err_by_few_units() {
    each(UNARY_F32, |variant, run| {
        let alphas: &[f32] = if variant.name == "rvv_swish" { &[1.0, 1.702, 0.3, 1e-6, 1e6] } else { &[-0.75] };
        alphas.iter().for_each(|&alpha| check(variant, run, alpha));
    });
}

fn check(variant: &Variant<UnaryF32>, run: unsafe fn(&unary_f32::Args), alpha: f32) {
    let (beta, most) = (0.5, most_units(variant.spec));
    // Every 65537th number of the format, and the special ones.
    let special = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 0.0, -0.0, f32::MIN_POSITIVE, 1e-45, f32::MAX, f32::MIN];
    let all: Vec<f32> =
        (0..u32::MAX).step_by(65_537).map(f32::from_bits).chain(special).chain(numbers(5000, 7)).collect();
    let apply = |x: &[f32], edge| {
        let (x, mut y) = (Guarded::new(x, edge), Guarded::new(&vec![7.0; x.len()], edge));
        let args = unary_f32::Args { x: x.as_ptr(), y: y.as_mut_ptr(), len: x.len(), alpha, beta };
        // SAFETY: both buffers have `len` numbers, on a core that can run the variant.
        unsafe { call(run, &args) };
        let in_place = unary_f32::Args { x: y.as_ptr(), ..args };
        let copy = y.to_vec();
        y.copy_from_slice(&x);
        // SAFETY: as above.
        unsafe { call(run, &in_place) };
        assert!(y.iter().zip(&copy).all(|(a, b)| a.to_bits() == b.to_bits()), "{} in place", variant.name);
        copy
    };
    for (&x, &y) in all.iter().zip(&apply(&all, grid::Edge::End)) {
        let expected = unary(variant.spec, x.into(), alpha.into(), beta.into());
        let error = if x.is_nan() { if y.is_nan() { 0.0 } else { f64::INFINITY } } else { ulps(y, expected) };
        assert!(error <= most, "{}({x:e}) is {y:e}, not {expected:e}: {error} units", variant.name);
    }
    lengths(|len, edge| {
        let x = numbers(len, 3);
        for (&x, &y) in x.iter().zip(&apply(&x, edge)) {
            let expected = unary(variant.spec, x.into(), alpha.into(), beta.into());
            assert!(ulps(y, expected) <= most, "{}({x}) of {len} is {y}, not {expected}", variant.name);
        }
    });
}

#[test]
fn functions_of_two_numbers_repeat_either() {
    each(BINARY_F32, |variant, run| {
        use binary_f32::Function::*;
        let expected = |a: f32, b: f32| match variant.spec {
            Add => a + b,
            Sub => a - b,
            Mul => a * b,
            Div => a / b,
            Min if a.is_nan() || b.is_nan() => f32::NAN,
            Max if a.is_nan() || b.is_nan() => f32::NAN,
            Min => a.min(b),
            Max => a.max(b),
        };
        lengths(|len, edge| {
            for (a_repeats, b_repeats) in [(false, false), (true, false), (false, true)] {
                for special in [None, Some(f32::NAN), Some(f32::INFINITY)] {
                    let mut values =
                        [numbers(if a_repeats { 1 } else { len }, 1), numbers(if b_repeats { 1 } else { len }, 2)];
                    for values in &mut values {
                        values.iter_mut().step_by(3).for_each(|x| *x = special.unwrap_or(*x));
                    }
                    let [a, b] = values.map(|values| Guarded::new(&values, edge));
                    let mut y = Guarded::new(&vec![7.0f32; len], edge);
                    let (a_ptr, b_ptr, y_ptr) = (a.as_ptr(), b.as_ptr(), y.as_mut_ptr());
                    let args = binary_f32::Args { a: a_ptr, b: b_ptr, y: y_ptr, len, a_repeats, b_repeats };
                    // SAFETY: operands have `len` numbers, or one that repeats.
                    unsafe { call(run, &args) };
                    for (index, &y) in y.iter().enumerate() {
                        let wanted =
                            expected(a[if a_repeats { 0 } else { index }], b[if b_repeats { 0 } else { index }]);
                        let same = y == wanted || (y.is_nan() && wanted.is_nan());
                        assert!(same, "{} {len} {a_repeats} {b_repeats} at {index}: {y}, not {wanted}", variant.name);
                    }
                }
            }
        });
    });
}
