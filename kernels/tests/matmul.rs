//! Every micro-kernel of matrix products on a grid of shapes around its own block, against plain loops.

mod grid;

use bytemuck::Pod;
use grid::{Guarded, call, each, sequence};
use half::f16;
use kernels::table::{MATMUL_F16_F16_F32, MATMUL_F32_F32_F32, MATMUL_U8_I8_I32, MatMulFamily, Variant};
use kernels::ukr::{Ahead, MatMulArgs};

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

#[test]
fn integer_products() {
    // One number in four is an end of its range.
    let byte = |x: u32| match x & 7 {
        0 => 0,
        1 => 255,
        _ => (x >> 8) as u8,
    };
    let signed = move |x: u32| (byte(x) ^ 0x80) as i8;
    each(MATMUL_U8_I8_I32, |variant, run| {
        let expected = |a: &[u8], b: &[i8]| a.iter().zip(b).map(|(&a, &b)| i32::from(a) * i32::from(b)).sum::<i32>();
        check(variant, run, (byte, signed), expected, |actual, expected, _| actual == *expected);
    });
}
