mod cases;
mod chips;
mod gated;

use std::sync::Arc;

use super::*;
use crate::driver::RunError;
use crate::isa::Target;
use crate::ops::epilogue::{Activation, Epilogue};
use crate::pack::{Codes, NBitsLayout, NBitsShape, NBitsWeights};
use crate::testing::{floats, run_one};
use cases::{Case, Zero, case, product, rounded, through_f16};

fn host(compute: Compute) -> Engine {
    Engine::new(&Target::host(1), compute)
}

fn run(case: &Case, a: &[f32], m: usize, engine: Engine, ranks: usize) -> Vec<f32> {
    let driver = MatMulNBits::new(m, engine, case.weights(engine), Epilogue::NONE);
    run_one::<f32>(driver, ranks, &[bytemuck::cast_slice(a)], m * case.shape.n()).unwrap()
}

/// Rows of `A` that share a scale.
fn group(engine: Engine, shape: &NBitsShape) -> usize {
    if engine.layout() == NBitsLayout::Host { shape.group() } else { engine.layout().group(shape) }
}

/// Checks both ways to compute against f64. The sums in f32 are off by `eps (k + 2)` of their largest terms; rounding
/// moves each element of `A` by at most 1/254 of its group's largest number, which is at most 1.
fn check(target: &Target, shape: NBitsShape, zero: Zero, m: usize, ranks: usize) {
    let [float, int8] = [Compute::F32, Compute::Int8].map(|compute| Engine::new(target, compute));
    let case = case(shape, zero, m.is_multiple_of(2), ranks.is_multiple_of(2));
    let a = floats(m * shape.k(), 1);
    let dims = [m, shape.k(), shape.n()];
    let exact = product(&a, &case.values, dims);
    let is_f16 = matches!(int8.method(m), engine::Method::F16(_));
    let through = match is_f16 {
        true => through_f16(&a, &case, m),
        false => product(&rounded(&a, shape.k(), group(int8, &shape)), &case.values, dims),
    };
    let sums = f64::from(f32::EPSILON) * (shape.k() + 2) as f64 * case.largest * 2.0;
    let moved = |index: usize| {
        let column = index % shape.n();
        let weights: f64 = (0..shape.k()).map(|row| case.values[row * shape.n() + column].abs()).sum();
        weights / 254.0 + sums
    };
    let what = format!("m={m} {shape} {zero:?} on {ranks} ranks in {} and {}", float.method(m), int8.method(m));
    let in_f32 = run(&case, &a, m, float, ranks);
    let in_int8 = run(&case, &a, m, int8, ranks);
    let mut ties = 0;
    for index in 0..exact.len() {
        let (float, int) = (f64::from(in_f32[index]), f64::from(in_int8[index]));
        assert!((float - exact[index]).abs() <= sums, "{what}: {index} is {float}, not {}", exact[index]);
        let most = if is_f16 { 5.0 / 2048.0 * case.largest * shape.k() as f64 } else { moved(index) };
        assert!((int - exact[index]).abs() <= most, "{what} in int8: {index} is {int}, not {}", exact[index]);
        // A number that falls between two codes may go either way, so a few rows may differ from this rounding.
        ties += usize::from((int - through[index]).abs() > sums);
    }
    assert!(
        ties <= if is_f16 { 0 } else { exact.len() / 50 },
        "{what}: int8 differs from rounded rows in {ties} of {}",
        exact.len()
    );
}

#[test]
fn products_of_all_shapes_are_right() {
    for bits in [2, 4, 8] {
        for (k, n) in [(1, 1), (31, 15), (40, 17), (64, 16), (100, 65), (257, 33)] {
            for block in [16, 32, 64, 1024] {
                let shape = NBitsShape::new(k, n, bits, block).unwrap();
                for (m, ranks) in [(1, 1), (2, 2), (3, 3), (5, 1), (12, 2), (13, 3), (34, 2)] {
                    check(
                        &Target::host(ranks),
                        shape,
                        [Zero::Absent, Zero::Whole, Zero::Broken][(m + k) % 3],
                        m,
                        ranks,
                    );
                }
            }
        }
    }
}

#[test]
fn ranks_share_large_products() {
    for (k, n, m) in [(300, 520, 1), (300, 520, 4), (64, 520, 70), (96, 200, 140)] {
        for bits in [4, 8] {
            let shape = NBitsShape::per_column(k, n, bits).unwrap();
            (1..=3).for_each(|ranks| check(&Target::host(ranks), shape, Zero::Whole, m, ranks));
        }
    }
}

#[test]
fn extreme_codes_do_not_overflow() {
    for bits in [2, 4, 8] {
        let shape = NBitsShape::new(4096, 3, bits, 32).unwrap();
        let codes =
            Codes { bytes: &vec![0xff; 4096 * 3 * bits / 8], signed: false, row_stride: 1, column_stride: 4096 };
        let blocks = shape.blocks();
        let weights =
            NBitsWeights::pack(NBitsLayout::Host, shape, codes, &vec![1.0; 3 * blocks], Some(&vec![0.0; 3 * blocks]))
                .unwrap();
        let weights = Arc::new(weights);
        for sign in [1.0, -1.0] {
            let a = vec![sign; 4096];
            let driver = MatMulNBits::new(1, host(Compute::Int8), Arc::clone(&weights), Epilogue::NONE);
            let y = run_one::<f32>(driver, 1, &[bytemuck::cast_slice(&a)], 3).unwrap();
            let expected = sign * 4096.0 * ((1u32 << bits) - 1) as f32;
            assert!(
                y.iter().all(|y| (y - expected).abs() <= expected.abs() * 4096.0 * f32::EPSILON),
                "{y:?} {expected}"
            );
        }
    }
}

#[test]
fn bias_and_activation_follow() {
    let shape = NBitsShape::new(40, 21, 4, 32).unwrap();
    let case = case(shape, Zero::Whole, false, false);
    for (m, engine) in [(1, host(Compute::F32)), (20, host(Compute::F32)), (3, host(Compute::Int8))] {
        let (a, bias) = (floats(m * 40, 1), floats(21, 2));
        let plain = run(&case, &a, m, engine, 1);
        let epilogue = Epilogue { bias: true, activation: Activation::Relu, residual: None };
        let driver = MatMulNBits::new(m, engine, case.weights(engine), epilogue);
        let inputs = [&a, &bias].map(|x| bytemuck::cast_slice(x));
        let y = run_one::<f32>(driver, 2, &inputs, m * 21).unwrap();
        let expected: Vec<f32> = plain.iter().enumerate().map(|(i, x)| (x + bias[i % 21]).max(0.0)).collect();
        assert_eq!(y, expected);
    }
}

#[test]
fn numbers_that_are_not_finite_show_in_their_row_only() {
    let shape = NBitsShape::new(64, 5, 4, 32).unwrap();
    let case = case(shape, Zero::Absent, false, false);
    for bad in [f32::NAN, f32::INFINITY] {
        for (m, compute) in [(2, Compute::F32), (2, Compute::Int8), (20, Compute::F32), (20, Compute::Int8)] {
            let mut a = floats(m * 64, 1);
            a[64 + 40] = bad;
            let y = run(&case, &a, m, host(compute), 1);
            assert!(y[..5].iter().all(|y| y.is_finite()), "{compute:?}");
            assert!(y[5..10].iter().all(|y| !y.is_finite()), "{compute:?}");
        }
    }
}

#[test]
fn a_weight_that_was_never_packed_is_an_error() {
    for (m, compute) in [(1, Compute::F32), (20, Compute::F32), (1, Compute::Int8)] {
        let weights = Arc::new(NBitsWeights::planned(NBitsLayout::Host, NBitsShape::new(32, 4, 4, 32).unwrap()));
        let driver = MatMulNBits::new(m, host(compute), weights, Epilogue::NONE);
        let a = vec![0f32; m * 32];
        let result = run_one::<f32>(driver, 1, &[bytemuck::cast_slice(&a)], m * 4);
        assert!(matches!(result, Err(RunError::Weights(_))));
    }
}
