//! Every micro-kernel of matrix products on a grid of shapes around its own block, against plain loops.

mod grid;

use bytemuck::Pod;
use grid::{Guarded, call, each, sequence};
use half::f16;
use kernels::table::{
    Family, MATMUL_BIAS_F16_F16_F32, MATMUL_F16_F16_F32, MATMUL_F32_F32_F32, MATMUL_U8_I8_F32, MATMUL_U8_I8_I32,
    MatMulFamily, MatMulSpec, Variant,
};
use kernels::ukr::matmul_bias_f16_f16_f32::Bias;
use kernels::ukr::matmul_u8_i8_f32::Columns;
use kernels::ukr::{Ahead, FinishArgs, MatMulArgs, PANEL};

/// Numbers that no kernel writes by itself, and columns of them beside `C`.
const UNTOUCHED: u8 = 0xa5;
const GAP: usize = 3;

/// Runs `variant` on all numbers of rows and several depths, and compares with `expected(a, b)` of each element's row and
/// column, groups of zeros included.
fn check<F: MatMulFamily, R>(
    variant: &Variant<F>,
    run: unsafe fn(&F::Args),
    numbers: (impl Fn(u32) -> F::A, impl Fn(u32) -> F::B),
    expected: impl Fn(&[F::A], &[F::B]) -> R,
    same: impl Fn(F::C, &R, usize) -> bool,
) where
    F::A: Pod,
    F::B: Pod,
    F::C: Pod + std::fmt::Debug,
    R: std::fmt::Debug,
{
    let (tile, block, panel) = (variant.spec.tile, variant.spec.block, variant.spec.layout.panel());
    let beyond = (tile.m == 1).then_some(2 * block.m + 1);
    for rows in (tile.m..=block.m).step_by(tile.m).chain(beyond) {
        for k_groups in [0, 1, 2, 3, 7, 8, 9, 16, 33] {
            let k = k_groups * tile.k;
            let a: Vec<F::A> = sequence(rows * k, 1).map(&numbers.0).collect();
            let b: Vec<F::B> = sequence(panel * k, 2).map(&numbers.1).collect();
            for edge in Guarded::<u8>::EDGES {
                let (a_copy, b_copy) = (Guarded::new(&a, edge), Guarded::new(&b, edge));
                let stride = panel + GAP;
                let filled = vec![bytemuck::pod_read_unaligned::<F::C>(&[UNTOUCHED; 4]); rows * stride - GAP];
                let mut c = Guarded::new(&filled, edge);
                let mut twice = Guarded::new(&filled, edge);
                let args = MatMulArgs {
                    a: a_copy.as_ptr(),
                    b: b_copy.as_ptr(),
                    c: c.as_mut_ptr(),
                    c_stride: stride * size_of::<F::C>(),
                    k_groups,
                    rows,
                    accumulate: false,
                    ahead: Ahead::NONE,
                };
                let again = MatMulArgs { c: twice.as_mut_ptr(), ..args };
                // SAFETY: the buffers have the sizes that the contract wants, on a core that can run the variant.
                unsafe {
                    call(run, &args);
                    call(run, &again);
                    call(run, &MatMulArgs { accumulate: true, ..again });
                }
                for (index, (&actual, &summed)) in c.iter().zip(&*twice).enumerate() {
                    let (row, column, what) = (index / stride, index % stride, variant.name);
                    if column >= panel {
                        let untouched = [actual, summed].iter().all(|c| bytemuck::bytes_of(c) == [UNTOUCHED; 4]);
                        assert!(untouched, "{what} writes beside its panel");
                        continue;
                    }
                    let element =
                        |group: usize, lane: usize, width: usize, at: usize| (group * width + at) * tile.k + lane;
                    let steps = || (0..k_groups).flat_map(|group| (0..tile.k).map(move |lane| (group, lane)));
                    let left: Vec<F::A> = steps().map(|(group, lane)| a[element(group, lane, rows, row)]).collect();
                    let right: Vec<F::B> =
                        steps().map(|(group, lane)| b[element(group, lane, panel, column)]).collect();
                    let wanted = expected(&left, &right);
                    let ok = same(actual, &wanted, k);
                    assert!(ok, "{what} rows={rows} k={k} at [{row}, {column}]: {actual:?} instead of {wanted:?}");
                    let wanted = expected(&[&*left, &left].concat(), &[&*right, &right].concat());
                    let ok = same(summed, &wanted, 2 * k);
                    assert!(
                        ok,
                        "{what} rows={rows} k={k} at [{row}, {column}] in two steps: {summed:?}, not {wanted:?}"
                    );
                }
            }
        }
    }
}

/// The bound of the rounding error of a sum of `k` products of numbers up to 1.
fn close(actual: f32, expected: f64, k: usize) -> bool {
    (f64::from(actual) - expected).abs() <= f64::from(f32::EPSILON) * (k + 1) as f64 * 2.0
}

fn unit(x: u32) -> f32 {
    x as f32 / (1 << 23) as f32 - 1.0
}

#[test]
fn f32_products() {
    each(MATMUL_F32_F32_F32, |variant, run| {
        let expected = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum::<f64>();
        check(variant, run, (unit, unit), expected, |actual, expected, k| close(actual, *expected, k));
    });
}

#[test]
fn f16_products() {
    let number = |x| f16::from_f32(unit(x));
    each(MATMUL_F16_F16_F32, |variant, run| {
        let expected = |a: &[f16], b: &[f16]| a.iter().zip(b).map(|(a, b)| a.to_f64() * b.to_f64()).sum::<f64>();
        check(variant, run, (number, number), expected, |actual, expected, k| close(actual, *expected, k));
    });
}

/// One number in four is an end of its range.
fn byte(x: u32) -> u8 {
    match x & 7 {
        0 => 0,
        1 => 255,
        _ => (x >> 8) as u8,
    }
}

fn signed(x: u32) -> i8 {
    (byte(x) ^ 0x80) as i8
}

#[test]
fn integer_products() {
    each(MATMUL_U8_I8_I32, |variant, run| {
        let expected = |a: &[u8], b: &[i8]| a.iter().zip(b).map(|(&a, &b)| i32::from(a) * i32::from(b)).sum::<i32>();
        check(variant, run, (byte, signed), expected, |actual, expected, _| actual == *expected);
    });
}

/// Runs `variant`, which finishes sums, on all numbers of rows and several depths, and compares with `expected(a, b, row, column,
/// factor)` of each result.
fn check_finished<A: Pod, B: Pod, P, F: Family<Args = FinishArgs<A, B, P>, Spec = MatMulSpec>>(
    variant: &Variant<F>,
    run: unsafe fn(&F::Args),
    numbers: (impl Fn(u32) -> A, impl Fn(u32) -> B),
    columns: &P,
    same: impl Fn(f32, &[A], &[B], usize, i32) -> bool,
) {
    let (tile, block, stride) = (variant.spec.tile, variant.spec.block, PANEL + GAP);
    for (rows, k_groups) in (1..=block.m).flat_map(|rows| [0, 1, 3, 4, 9, 33].map(|k_groups| (rows, k_groups))) {
        let (tile_rows, k) = (rows.next_multiple_of(tile.m), k_groups * tile.k);
        let a: Vec<A> = sequence(tile_rows * k, 1).map(&numbers.0).collect();
        let b: Vec<B> = sequence(PANEL * k, 2).map(&numbers.1).collect();
        let factors: Vec<i32> = sequence(rows, 7).map(|x| x as i32 - (1 << 23)).collect();
        for (edge, has_factors) in Guarded::<u8>::EDGES.into_iter().zip([false, true]) {
            let (a, b, factors) = (Guarded::new(&a, edge), Guarded::new(&b, edge), Guarded::new(&factors, edge));
            let mut y = Guarded::new(&vec![7.0f32; rows * stride - GAP], edge);
            let args = FinishArgs {
                a: a.as_ptr(),
                b: b.as_ptr(),
                k_groups,
                columns,
                row_factors: if has_factors { factors.as_ptr() } else { std::ptr::null() },
                y: y.as_mut_ptr(),
                y_stride: stride * size_of::<f32>(),
                rows,
                ahead: Ahead::NONE,
            };
            // SAFETY: the buffers have the sizes that the contract wants, on a core that can run the variant.
            unsafe { call(run, &args) };
            for (index, &y) in y.iter().enumerate() {
                let (row, column) = (index / stride, index % stride);
                let what = format!("{} rows={rows} k={k} at [{row}, {column}]: {y}", variant.name);
                if column >= PANEL {
                    assert_eq!(y, 7.0, "{what}, beside the panel");
                    continue;
                }
                let at = |depth: usize, width: usize, index: usize| {
                    (depth / tile.k * width + index) * tile.k + depth % tile.k
                };
                let left: Vec<A> = (0..k).map(|depth| a[at(depth, tile_rows, row)]).collect();
                let right: Vec<B> = (0..k).map(|depth| b[at(depth, PANEL, column)]).collect();
                let factor = if has_factors { factors[row] } else { 0 };
                assert!(same(y, &left, &right, column, factor), "{what}");
            }
        }
    }
}

/// A fixed sequence of integers, and one of numbers up to 1.
fn integers(seed: u32) -> Vec<i32> {
    sequence(PANEL, seed).map(|x| x as i32 - (1 << 23)).collect()
}

fn floats(seed: u32) -> Vec<f32> {
    sequence(PANEL, seed).map(unit).collect()
}

#[test]
fn rescaled_products() {
    let (sums, factors, scales, bias) = (integers(3), integers(4), floats(5), floats(6));
    each(MATMUL_U8_I8_F32, |variant, run| {
        for has_bias in [false, true] {
            let columns = Columns {
                sums: sums.as_ptr(),
                factors: factors.as_ptr(),
                scales: scales.as_ptr(),
                bias: if has_bias { bias.as_ptr() } else { std::ptr::null() },
                zero_point: 77,
                scale: 0.3,
            };
            check_finished(variant, run, (byte, signed), &columns, |y, a, b, column, factor| {
                let sum: i32 = a.iter().zip(b).map(|(&a, &b)| i32::from(a) * i32::from(b)).sum();
                let zero_points = sums[column].wrapping_mul(77).wrapping_add(factor.wrapping_mul(factors[column]));
                let scaled = sum.wrapping_sub(zero_points) as f32 * (0.3 * scales[column]);
                y == if has_bias { scaled + bias[column] } else { scaled }
            });
        }
    });
}

#[test]
fn f16_products_with_and_without_bias() {
    let (number, bias) = (|x| f16::from_f32(unit(x)), floats(3));
    each(MATMUL_BIAS_F16_F16_F32, |variant, run| {
        for has_bias in [false, true] {
            let columns = Bias(if has_bias { bias.as_ptr() } else { std::ptr::null() });
            check_finished(variant, run, (number, number), &columns, |y, a, b, column, _| {
                let sum: f64 = a.iter().zip(b).map(|(a, b)| a.to_f64() * b.to_f64()).sum();
                let bias = if has_bias { f64::from(bias[column]) } else { 0.0 };
                close(y, sum + bias, a.len() + 1)
            });
        }
    });
}
