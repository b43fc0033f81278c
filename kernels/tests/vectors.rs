//! Every vector kernel on lengths around its registers, between guard pages, against plain loops in f64.

mod grid;

use grid::{Guarded, call, each, sequence};
use half::f16;
use kernels::reference::erf::erf;
use kernels::table::{
    BINARY_F32, CONVERT_F16_F32, CONVERT_F32_F16, EXP_SUM_F32, NORMALIZE_F32, QUANTIZE_F32_U8, REDUCE_F32,
    RESCALE_I32_F32, ROTATE_F32, TRANSPOSE, UNARY_F32,
};
use kernels::ukr::reduce_f32::Reduction;
use kernels::ukr::rotate_f32::Pairs;
use kernels::ukr::{
    binary_f32, convert_f16_f32, convert_f32_f16, exp_sum_f32, normalize_f32, quantize_f32_u8, reduce_f32,
    rescale_i32_f32, rotate_f32, transpose, unary_f32,
};

const LENGTHS: [usize; 14] = [0, 1, 2, 7, 8, 15, 16, 17, 33, 63, 64, 65, 130, 1000];

fn numbers(len: usize, seed: u32) -> Vec<f32> {
    sequence(len, seed).map(|x| x as f32 / (1 << 22) as f32 - 2.0).collect()
}

/// Calls `check` for each length and both edges of the guard pages.
fn grid(mut check: impl FnMut(usize, grid::Edge)) {
    for len in LENGTHS {
        Guarded::<u8>::EDGES.into_iter().for_each(|edge| check(len, edge));
    }
}

/// Units in the last place of `expected` between it and `actual`; 0 for the same special value.
fn ulps(actual: f32, expected: f64) -> f64 {
    let rounded = expected as f32;
    if rounded == actual || (rounded.is_nan() && actual.is_nan()) {
        return 0.0;
    }
    if !actual.is_finite() || !expected.is_finite() {
        return f64::INFINITY;
    }
    let exponent = expected.abs().log2().floor().max(-126.0);
    (f64::from(actual) - expected).abs() / (exponent - 23.0).exp2()
}

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

#[test]
fn functions_of_one_number_err_by_two_units_at_most() {
    each(UNARY_F32, |variant, run| {
        let (alpha, beta) = (if variant.name == "rvv_swish" { 1.0 } else { -0.75 }, 0.5);
        // Every 65537th number of the format, and the special ones.
        let special =
            [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 0.0, -0.0, f32::MIN_POSITIVE, 1e-45, f32::MAX, f32::MIN];
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
            assert!(error <= 2.0, "{}({x:e}) is {y:e}, not {expected:e}: {error} units", variant.name);
        }
        grid(|len, edge| {
            let x = numbers(len, 3);
            for (&x, &y) in x.iter().zip(&apply(&x, edge)) {
                let expected = unary(variant.spec, x.into(), alpha.into(), beta.into());
                assert!(ulps(y, expected) <= 2.0, "{}({x}) of {len} is {y}, not {expected}", variant.name);
            }
        });
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
        grid(|len, edge| {
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

#[test]
fn reductions_pass_over_no_number() {
    each(REDUCE_F32, |variant, run| {
        grid(|len, edge| {
            for offset in [0.0, 1e4] {
                let mut values: Vec<f32> = numbers(len, 5).into_iter().map(|x| x + offset).collect();
                if variant.spec == Reduction::Extremes && len > 8 {
                    values[3] = f32::NAN;
                }
                let x = Guarded::new(&values, edge);
                let (shift, mut result) = (offset, [7.0; 2]);
                // SAFETY: the buffer has `len` numbers.
                unsafe { call(run, &reduce_f32::Args { x: x.as_ptr(), len, shift, result: &mut result }) };
                let wide = || values.iter().map(|&x| f64::from(x));
                let expected = match variant.spec {
                    Reduction::Extremes => {
                        [wide().fold(f64::INFINITY, f64::min), wide().fold(f64::NEG_INFINITY, f64::max)]
                    }
                    Reduction::Moments => {
                        let differences = || wide().map(|x| x - f64::from(shift));
                        [differences().sum(), differences().map(|x| x * x).sum()]
                    }
                    Reduction::Squares => [wide().map(|x| x * x).sum(), 0.0],
                    Reduction::Sum => [wide().sum(), 0.0],
                };
                for (actual, expected) in result.into_iter().zip(expected) {
                    // The order of the additions differs.
                    let power = if variant.spec == Reduction::Squares { 2 } else { 1 };
                    let terms = wide().map(|x| x.abs().powi(power)).sum::<f64>();
                    let bound = f64::EPSILON * (len as f64 + 1.0) * terms;
                    let close = actual == expected || (actual - expected).abs() <= bound;
                    assert!(close, "{} of {len}: {actual}, not {expected}", variant.name);
                }
            }
        });
    });
}

#[test]
fn exponentials_and_their_sum() {
    each(EXP_SUM_F32, |_, run| {
        grid(|len, edge| {
            let x = numbers(len, 9);
            let (values, mut y, mut sum) = (Guarded::new(&x, edge), Guarded::new(&vec![7.0; len], edge), 7.0);
            let args = exp_sum_f32::Args { x: values.as_ptr(), y: y.as_mut_ptr(), len, shift: 1.5, sum: &mut sum };
            // SAFETY: both buffers have `len` numbers.
            unsafe { call(run, &args) };
            let expected: Vec<f64> = x.iter().map(|&x| (f64::from(x) - 1.5).exp()).collect();
            assert!(y.iter().zip(&expected).all(|(&y, &expected)| ulps(y, expected) <= 2.0));
            let total: f64 = expected.iter().sum();
            // Each number may err by two units, and at least 16 lanes are summed up in f32.
            let bound = total * f64::from(f32::EPSILON) * (2.0 + len as f64 / 32.0);
            assert!((sum - total).abs() <= bound, "{len}: {sum}, not {total}");
        });
        for (x, shift) in
            [([f32::NAN, 1.0], 1.0), ([f32::INFINITY, 1.0], f32::INFINITY), ([f32::NEG_INFINITY; 2], f32::NEG_INFINITY)]
        {
            let (mut y, mut sum) = (x, 0.0);
            let args = exp_sum_f32::Args { x: x.as_ptr(), y: y.as_mut_ptr(), len: 2, shift, sum: &mut sum };
            // SAFETY: both buffers have two numbers.
            unsafe { call(run, &args) };
            assert!(y[0].is_nan() && sum.is_nan(), "{x:?} gave {y:?}, {sum}");
        }
    });
}

#[test]
fn normalisations_with_and_without_weights() {
    each(NORMALIZE_F32, |_, run| {
        grid(|len, edge| {
            let weights = [(false, false), (false, true), (true, false), (true, true)];
            for ((with_gamma, with_beta), mean) in
                weights.into_iter().flat_map(|weights| [0.0, 0.5].map(|mean| (weights, mean)))
            {
                let weights = |given: bool, seed| Guarded::new(&numbers(if given { len } else { 0 }, seed), edge);
                let (gamma, beta, x) = (weights(with_gamma, 1), weights(with_beta, 2), weights(true, 3));
                let mut y = Guarded::new(&vec![7.0; len], edge);
                let pointer = |given: bool, of: &Guarded<f32>| if given { of.as_ptr() } else { std::ptr::null() };
                let args = normalize_f32::Args {
                    x: x.as_ptr(),
                    y: y.as_mut_ptr(),
                    gamma: pointer(with_gamma, &gamma),
                    beta: pointer(with_beta, &beta),
                    len,
                    mean,
                    residue: mean / 4.0,
                    scale: 3.0,
                };
                // SAFETY: the buffers that are given have `len` numbers.
                unsafe { call(run, &args) };
                for (index, &y) in y.iter().enumerate() {
                    let mut wanted = (x[index] - mean - mean / 4.0) * 3.0;
                    wanted *= if with_gamma { gamma[index] } else { 1.0 };
                    wanted += if with_beta { beta[index] } else { 0.0 };
                    assert_eq!(y, wanted, "{len} {with_gamma} {with_beta} at {index}");
                }
            }
        });
    });
}

#[test]
fn quantisation_rounds_half_to_even_and_saturates() {
    each(QUANTIZE_F32_U8, |_, run| {
        grid(|len, edge| {
            let scales =
                [(0, 0, 0.02f32), (128, 128, 1.0), (255, 0, 0.01), (99, 128, 0.037), (128, 0, 1e-36), (3, 0, 1e31)];
            for (zero_point, flip, scale) in scales {
                let mut values: Vec<f32> = numbers(len, 4).into_iter().map(|x| x * 150.0 * scale).collect();
                // Every other quotient is a half, or the number before or behind it.
                for (index, x) in values.iter_mut().enumerate().step_by(2) {
                    let half = ((*x / scale).floor() + 0.5) * scale;
                    *x = f32::from_bits((half.to_bits() + index as u32 / 2 % 3).saturating_sub(1));
                }
                let special = [0.5, 1.5, -0.5, -1.5, 2.5, 1e30, -1e30, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
                values.iter_mut().zip(special).for_each(|(x, special)| *x = special * scale);
                let (x, mut y) = (Guarded::new(&values, edge), Guarded::new(&vec![7u8; len], edge));
                let args = quantize_f32_u8::Args { x: x.as_ptr(), y: y.as_mut_ptr(), len, scale, zero_point, flip };
                // SAFETY: both buffers have `len` numbers.
                unsafe { call(run, &args) };
                for (x, &y) in values.iter().zip(&*y) {
                    let rounded = (x / scale).round_ties_even();
                    let wanted = if x.is_nan() { 0.0 } else { (rounded + zero_point as f32).clamp(0.0, 255.0) };
                    assert_eq!(y, wanted as u8 ^ flip, "{x} / {scale} + {zero_point}");
                }
            }
        });
    });
}

#[test]
fn sums_are_rescaled_with_and_without_zero_points_and_bias() {
    const GAP: usize = 2;
    each(RESCALE_I32_F32, |_, run| {
        grid(|columns, edge| {
            for rows in [0, 1, 2, 5] {
                let stride = columns + GAP;
                let len = (rows * stride).saturating_sub(GAP);
                let integers = |len, seed, range: u32| {
                    let numbers = sequence(len, seed).map(|x| (x % range) as i32 - (range / 2) as i32);
                    Guarded::new(&numbers.collect::<Vec<_>>(), edge)
                };
                let (sums, column_sums, zero_points) =
                    (integers(len, 1, 1 << 24), integers(columns, 2, 255), integers(columns, 3, 255));
                let (a_zero_points, row_sums) = (integers(rows, 4, 255), integers(rows, 5, 9001));
                let (scales, bias) =
                    (Guarded::new(&numbers(columns, 6), edge), Guarded::new(&numbers(columns, 7), edge));
                for (with_zero_points, with_bias) in [(false, false), (true, false), (false, true), (true, true)] {
                    let mut y = Guarded::new(&vec![7.0f32; len], edge);
                    let args = rescale_i32_f32::Args {
                        sums: sums.as_ptr(),
                        sums_stride: 4 * stride,
                        column_sums: column_sums.as_ptr(),
                        b_zero_points: if with_zero_points { zero_points.as_ptr() } else { std::ptr::null() },
                        b_scales: scales.as_ptr(),
                        bias: if with_bias { bias.as_ptr() } else { std::ptr::null() },
                        y: y.as_mut_ptr(),
                        y_stride: 4 * stride,
                        rows,
                        columns,
                        a_zero_points: a_zero_points.as_ptr(),
                        row_sums: row_sums.as_ptr(),
                        a_scale: 0.03,
                    };
                    // SAFETY: the buffers that are given have so many rows and columns.
                    unsafe { call(run, &args) };
                    for (index, &y) in y.iter().enumerate() {
                        let (row, column) = (index / stride, index % stride);
                        if column >= columns {
                            assert_eq!(y, 7.0, "{rows}x{columns} writes beside its columns");
                            continue;
                        }
                        let correction = if with_zero_points { row_sums[row] * zero_points[column] } else { 0 };
                        let sum = sums[index] - a_zero_points[row] * column_sums[column] - correction;
                        let product = sum as f32 * (0.03 * scales[column]);
                        let wanted = if with_bias { product + bias[column] } else { product };
                        assert_eq!(y, wanted, "{rows}x{columns} {with_zero_points} {with_bias} at {row}, {column}");
                    }
                }
            }
        });
    });
}

#[test]
fn f16_is_widened_exactly_and_rounded_to_even() {
    each(CONVERT_F16_F32, |_, run| {
        let all: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).collect();
        let check = |x: &[f16], edge| {
            let (x, mut y) = (Guarded::new(x, edge), Guarded::new(&vec![7f32; x.len()], edge));
            // SAFETY: both buffers have so many numbers.
            unsafe { call(run, &convert_f16_f32::Args { x: x.as_ptr(), y: y.as_mut_ptr(), len: x.len() }) };
            assert!(x.iter().zip(&*y).all(|(x, y)| x.to_f32() == *y || (x.is_nan() && y.is_nan())));
        };
        check(&all, grid::Edge::End);
        grid(|len, edge| check(&all[15_000..15_000 + len], edge));
    });
    each(CONVERT_F32_F16, |_, run| {
        let some: Vec<f32> =
            (0..u32::MAX).step_by(65_537).map(f32::from_bits).chain([65_519.0, 65_520.0, 2049.0, 2051.0]).collect();
        let check = |x: &[f32], edge| {
            let (x, mut y) = (Guarded::new(x, edge), Guarded::new(&vec![f16::ONE; x.len()], edge));
            // SAFETY: both buffers have so many numbers.
            unsafe { call(run, &convert_f32_f16::Args { x: x.as_ptr(), y: y.as_mut_ptr(), len: x.len() }) };
            for (&x, &y) in x.iter().zip(&*y) {
                assert!(f16::from_f32(x) == y || (x.is_nan() && y.is_nan()), "{x} gave {y}");
            }
        };
        check(&some, grid::Edge::End);
        grid(|len, edge| check(&some[15_000..15_000 + len], edge));
    });
}

#[test]
fn transposes_move_every_width() {
    each(TRANSPOSE, |variant, run| {
        let size = variant.spec;
        for [rows, columns] in [[1, 1], [3, 5], [16, 33], [7, 130], [2, 1000]] {
            for edge in Guarded::<u8>::EDGES {
                let (x_stride, y_stride) = (rows + 2, columns + 3);
                let bytes: Vec<u8> = sequence(((columns - 1) * x_stride + rows) * size, 1).map(|x| x as u8).collect();
                let filled = vec![0xa5; ((rows - 1) * y_stride + columns) * size];
                let (x, mut y) = (Guarded::new(&bytes, edge), Guarded::new(&filled, edge));
                let args = transpose::Args {
                    x: x.as_ptr(),
                    x_stride: (x_stride * size) as isize,
                    y: y.as_mut_ptr(),
                    y_stride: y_stride * size,
                    rows,
                    columns,
                };
                // SAFETY: the buffers are as long as the strides say.
                unsafe { call(run, &args) };
                for (at, element) in y.chunks(size).enumerate() {
                    let (row, column) = (at / y_stride, at % y_stride);
                    let from = (column * x_stride + row) * size;
                    let wanted = if column < columns { &bytes[from..from + size] } else { &filled[..size] };
                    assert_eq!(element, wanted, "{} [{row}, {column}]", variant.name);
                }
            }
        }
    });
}

#[test]
fn rotated_pairs() {
    each(ROTATE_F32, |variant, run| {
        grid(|pairs, edge| {
            let x = numbers(2 * pairs, 1);
            let mut y = Guarded::new(&x, edge);
            let [cos, sin] = [2, 3].map(|seed| Guarded::new(&numbers(pairs, seed), edge));
            let args =
                rotate_f32::Args { x: y.as_ptr(), y: y.as_mut_ptr(), cos: cos.as_ptr(), sin: sin.as_ptr(), pairs };
            // SAFETY: the buffers have the sizes that the contract wants, on a core that can run the variant.
            unsafe { call(run, &args) };
            for pair in 0..pairs {
                let places = match variant.spec {
                    Pairs::Halves => [pair, pair + pairs],
                    Pairs::Neighbours => [2 * pair, 2 * pair + 1],
                };
                let [a, b] = places.map(|place| f64::from(x[place]));
                let (cos, sin) = (f64::from(cos[pair]), f64::from(sin[pair]));
                // Numbers are at most 2: one product and then the sum are rounded.
                let tolerance = 6.0 * f64::from(f32::EPSILON);
                for (place, expected) in places.into_iter().zip([a * cos - b * sin, a * sin + b * cos]) {
                    let difference = (f64::from(y[place]) - expected).abs();
                    assert!(difference <= tolerance, "{} pairs={pairs}: {} not {expected}", variant.name, y[place]);
                }
            }
        });
    });
}
