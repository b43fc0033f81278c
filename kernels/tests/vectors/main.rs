//! Every vector kernel on lengths around its registers, between guard pages, against plain loops in f64.

mod functions;
#[path = "../grid/mod.rs"]
mod grid;
mod packed;
mod rows;
mod streams;
mod tiles;

use grid::{Guarded, call, each, sequence};
use half::f16;
use kernels::table::{CONVERT_F16_F32, CONVERT_F32_F16, QUANTIZE_F32_U8, RESCALE_I32_F32, ROTATE_F32, TRANSPOSE};
use kernels::ukr::rotate_f32::Pairs;
use kernels::ukr::{convert_f16_f32, convert_f32_f16, quantize_f32_u8, rescale_i32_f32, rotate_f32, transpose};

const LENGTHS: [usize; 16] = [0, 1, 2, 7, 8, 15, 16, 17, 32, 33, 63, 64, 65, 128, 130, 1000];

fn numbers(len: usize, seed: u32) -> Vec<f32> {
    sequence(len, seed).map(|x| x as f32 / (1 << 22) as f32 - 2.0).collect()
}

/// Calls `check` for each length and both edges of the guard pages.
fn lengths(mut check: impl FnMut(usize, grid::Edge)) {
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

#[test]
fn quantisation_rounds_half_to_even_and_saturates() {
    each(QUANTIZE_F32_U8, |_, run| {
        lengths(|len, edge| {
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
        lengths(|columns, edge| {
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
        lengths(|len, edge| check(&all[15_000..15_000 + len], edge));
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
        lengths(|len, edge| check(&some[15_000..15_000 + len], edge));
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
        lengths(|pairs, edge| {
            for (rows, gap) in [(0, 0), (1, 0), (2, 3), (5, 0), (13, 0)] {
                let stride = 2 * pairs + gap;
                let x = numbers((rows * stride).saturating_sub(gap), 1);
                let mut y = Guarded::new(&x, edge);
                let [cos, sin] = [2, 3].map(|seed| Guarded::new(&numbers(pairs, seed), edge));
                let (x_stride, y_stride) = (4 * stride, 4 * stride);
                let args = rotate_f32::Args {
                    x: y.as_ptr(),
                    y: y.as_mut_ptr(),
                    cos: cos.as_ptr(),
                    sin: sin.as_ptr(),
                    pairs,
                    rows,
                    x_stride,
                    y_stride,
                };
                // SAFETY: the buffers have the sizes that the contract wants, on a core that can run the variant.
                unsafe { call(run, &args) };
                for (at, &y) in y.iter().enumerate() {
                    let (row, at) = (at / stride * stride, at % stride);
                    let wanted = match rotated(variant.spec, pairs, at) {
                        Some((other, pair, sign)) => {
                            let [x, other] = [at, other].map(|place| f64::from(x[row + place]));
                            x * f64::from(cos[pair]) + sign * other * f64::from(sin[pair])
                        }
                        None => f64::from(x[row + at]),
                    };
                    // Numbers are at most 2: one product and then the sum are rounded.
                    let close = (f64::from(y) - wanted).abs() <= 6.0 * f64::from(f32::EPSILON);
                    assert!(close, "{} {rows} rows of {pairs} pairs at {at}: {y} not {wanted}", variant.name);
                }
            }
        });
    });
}

/// The other number of the pair of number `at` of a row, the pair, and the sign with which the other one counts; `None` behind the
/// pairs.
fn rotated(places: Pairs, pairs: usize, at: usize) -> Option<(usize, usize, f64)> {
    let (pair, is_second) = match places {
        Pairs::Halves => (at % pairs.max(1), at >= pairs),
        Pairs::Neighbours => (at / 2, at % 2 == 1),
    };
    let distance = if places == Pairs::Halves { pairs } else { 1 };
    let other = if is_second { at.wrapping_sub(distance) } else { at + distance };
    (at < 2 * pairs).then_some((other, pair, if is_second { 1.0 } else { -1.0 }))
}
