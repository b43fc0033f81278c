use std::sync::Arc;

use half::f16;

use super::*;
use crate::driver::RunError;
use crate::isa::Target;
use crate::ops::epilogue::{Activation, Epilogue, Position, Residual};
use crate::pack::{PackedWeights, WeightData, WeightSource};
use crate::reference;
use crate::select;
use crate::testing::{floats, run_one};

fn pack(target: &Target, b: &[f32], k: usize, n: usize, transposed: bool) -> Arc<PackedWeights> {
    let source = WeightSource { data: WeightData::F32(b), k, n, transposed };
    Arc::new(PackedWeights::pack(select::f32_layout(target), source).unwrap())
}

const HOST: Target = Target::host(1);
/// One target for each block.
const TARGETS: [Target; 3] = [HOST, Target::k1(), Target::k3()];

fn transpose(x: &[f32], rows: usize, columns: usize) -> Vec<f32> {
    (0..rows * columns).map(|i| x[i % rows * columns + i / rows]).collect()
}

/// Bound of the rounding error of a sum of `k` products of numbers up to `bound`, and of what the epilogue adds.
fn tolerance(k: usize, bound: f64) -> f64 {
    f64::from(f32::EPSILON) * (k + 1) as f64 * bound * 2.0
}

fn assert_close(actual: &[f32], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(actual.len(), expected.len());
    for (index, (&a, &e)) in actual.iter().zip(expected).enumerate() {
        assert!((f64::from(a) - e).abs() <= tolerance, "{what}: element {index} is {a}, not {e}");
    }
}

#[test]
fn products_of_all_shapes_are_right() {
    let orders = [(false, false), (true, false), (false, true)];
    for m in [1, 2, 5, 6, 7, 49, 133] {
        for (k, n) in [(1, 1), (3, 63), (256, 64), (257, 65), (31, 200)] {
            let (a, b) = (floats(m * k, 1), floats(k * n, 2));
            let expected = reference::matmul::matmul(&a, &b, m, k, n);
            for (ranks, (a_transposed, b_transposed)) in (1..=3).zip(orders.into_iter().cycle().skip(m % orders.len()))
            {
                let stored_a = if a_transposed { transpose(&a, m, k) } else { a.clone() };
                let stored_b = if b_transposed { transpose(&b, k, n) } else { b.clone() };
                for target in TARGETS {
                    let weights = pack(&target, &stored_b, k, n, b_transposed);
                    let driver = MatMul::new(&target, m, a_transposed, 1.0, weights, Epilogue::NONE);
                    let what = format!("{driver} on {ranks} ranks");
                    let y = run_one::<f32>(driver, ranks, &[bytemuck::cast_slice(&stored_a)], m * n).unwrap();
                    assert_close(&y, &expected, tolerance(k, 1.0), &what);
                }
            }
        }
    }
}

#[test]
fn halves_are_multiplied_as_they_are_and_summed_in_f32() {
    for target in [Target::k1(), Target::k3()] {
        for [m, k, n] in [[1, 5, 3], [7, 33, 65], [50, 64, 32], [53, 401, 65], [3, 0, 4]] {
            let halves = |len, seed| floats(len, seed).into_iter().map(f16::from_f32).collect::<Vec<_>>();
            let (a, b) = (halves(m * k, 1), halves(k * n, 2));
            let wide = |x: &[f16]| x.iter().map(|x| x.to_f32()).collect::<Vec<_>>();
            let expected = reference::matmul::matmul(&wide(&a), &wide(&b), m, k, n);
            let source = WeightSource { data: WeightData::F16(&b), k, n, transposed: false };
            let weights = Arc::new(PackedWeights::pack(select::f16_layout(&target).unwrap(), source).unwrap());
            let driver = MatMul::new(&target, m, false, 1.0, Arc::clone(&weights), Epilogue::NONE);
            let what = driver.to_string();
            let y = run_one::<f32>(driver, 2, &[bytemuck::cast_slice(&a)], m * n).unwrap();
            assert_close(&y, &expected, tolerance(k, 1.0), &what);
            let bias = floats(n, 3);
            let epilogue = Epilogue { bias: true, activation: Activation::Relu, residual: None };
            let driver = MatMul::new(&target, m, false, 1.0, weights, epilogue);
            let what = driver.to_string();
            let inputs = [bytemuck::cast_slice(&a), bytemuck::cast_slice(&bias)];
            let y = run_one::<f32>(driver, 2, &inputs, m * n).unwrap();
            let finished = |index: usize| (expected[index] + f64::from(bias[index % n])).max(0.0);
            assert_close(&y, &(0..m * n).map(finished).collect::<Vec<_>>(), tolerance(k + 1, 1.0), &what);
        }
    }
}

#[test]
fn empty_dimensions_give_zero_or_nothing() {
    let bias = floats(70, 3);
    let epilogue = Epilogue { bias: true, ..Epilogue::NONE };
    for target in TARGETS {
        let driver = MatMul::new(&target, 3, false, 1.0, pack(&target, &[], 0, 70, false), epilogue);
        let y = run_one::<f32>(driver, 2, &[&[], bytemuck::cast_slice(&bias)], 3 * 70).unwrap();
        assert_eq!(y, [&bias[..], &bias, &bias].concat());
    }
    for (m, k, n) in [(0, 4, 5), (4, 5, 0)] {
        let driver = MatMul::new(&HOST, m, false, 1.0, pack(&HOST, &floats(k * n, 1), k, n, false), Epilogue::NONE);
        assert!(run_one::<f32>(driver, 2, &[bytemuck::cast_slice(&floats(m * k, 1))], 0).unwrap().is_empty());
    }
}

#[test]
fn the_epilogue_runs_in_its_order() {
    let (m, k, n) = (7, 20, 67);
    let (a, b, bias, residual) = (floats(m * k, 1), floats(k * n, 2), floats(n, 3), floats(m * n, 4));
    let product = reference::matmul::matmul(&a, &b, m, k, n);
    for (position, target) in [(Position::BeforeActivation, TARGETS[0]), (Position::AfterActivation, TARGETS[1])] {
        for strides in [[n, 1], [0, 1], [1, 0], [0, 0]] {
            let residual_of = Residual { position, factor: -0.5, strides };
            let activation = Activation::Clip { low: -0.25, high: 0.75 };
            let epilogue = Epilogue { bias: true, activation, residual: Some(residual_of) };
            let driver = MatMul::new(&target, m, false, 0.5, pack(&target, &b, k, n, false), epilogue);
            let inputs = [&a, &bias, &residual].map(|x| bytemuck::cast_slice(x));
            let y = run_one::<f32>(driver, 2, &inputs, m * n).unwrap();
            let expected: Vec<f64> = (0..m * n)
                .map(|i| {
                    let (row, column) = (i / n, i % n);
                    let added = -0.5 * f64::from(residual[row * strides[0] + column * strides[1]]);
                    let x = 0.5 * product[i] + f64::from(bias[column]);
                    match position {
                        Position::BeforeActivation => (x + added).clamp(-0.25, 0.75),
                        Position::AfterActivation => x.clamp(-0.25, 0.75) + added,
                    }
                })
                .collect();
            assert_close(&y, &expected, tolerance(k, 1.0), &format!("{position:?} {strides:?}"));
        }
    }
}

#[test]
fn activations_follow_their_formulas_and_keep_nan() {
    let x: Vec<f32> = (-400..=400).map(|i| i as f32 / 40.0).chain([f32::NAN, 60.0, -60.0]).collect();
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let cases: [(Activation, &dyn Fn(f64) -> f64); 8] = [
        (Activation::Identity, &|x| x),
        (Activation::Relu, &|x| x.max(0.0)),
        (Activation::Gelu, &reference::matmul::gelu),
        (Activation::GeluTanh, &|x| {
            0.5 * x * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x)).tanh())
        }),
        (Activation::Silu, &|x| x * sigmoid(x)),
        (Activation::QuickGelu { alpha: 1.702 }, &|x| x * sigmoid(1.702 * x)),
        (Activation::Sigmoid, &sigmoid),
        (Activation::Tanh, &f64::tanh),
    ];
    for (activation, formula) in cases {
        let epilogue = Epilogue { activation, ..Epilogue::NONE };
        let driver = MatMul::new(&HOST, x.len(), false, 1.0, pack(&HOST, &[1.0], 1, 1, false), epilogue);
        let y = run_one::<f32>(driver, 1, &[bytemuck::cast_slice(&x)], x.len()).unwrap();
        for (&x, &y) in x.iter().zip(&y) {
            let expected = formula(f64::from(x));
            // The vectorised functions are documented to a few units in the last place of their largest terms.
            let tolerance = 8.0 * f64::from(f32::EPSILON) * f64::from(x).abs().max(1.0);
            let close = if x.is_nan() { y.is_nan() } else { (f64::from(y) - expected).abs() <= tolerance };
            assert!(close, "{activation:?}({x}) is {y}, not {expected}");
        }
    }
}

#[test]
fn a_weight_that_was_never_packed_is_an_error() {
    for target in TARGETS {
        let weights = Arc::new(PackedWeights::planned(select::f32_layout(&target), 4, 4));
        let driver = MatMul::new(&target, 1, false, 1.0, weights, Epilogue::NONE);
        let result = run_one::<f32>(driver, 1, &[bytemuck::cast_slice(&[0f32; 4])], 4);
        assert!(matches!(result, Err(RunError::Weights(_))));
    }
}

#[test]
fn batches_broadcast_and_take_any_strides() {
    for [m, k, n] in [[1, 5, 1], [3, 7, 70], [133, 33, 65], [5, 0, 3], [2, 64, 128]] {
        let (a, b, bias) = (floats(4 * m * k, 1), floats(2 * k * n, 2), floats(n, 3));
        // Two dimensions of batch: B repeats along the first.
        let offsets: Vec<[usize; 2]> = (0..4).map(|i| [i * m * k, i % 2 * k * n]).collect();
        let expected: Vec<f64> = offsets
            .iter()
            .flat_map(|&[x, y]| reference::matmul::matmul(&a[x..x + m * k], &b[y..y + k * n], m, k, n))
            .enumerate()
            .map(|(index, x)| 0.125 * x + f64::from(bias[index % n]))
            .collect();
        let transposed = |x: &[f32], count: usize, rows: usize, columns: usize| -> Vec<f32> {
            (0..count)
                .flat_map(|i| transpose(&x[i * rows * columns..(i + 1) * rows * columns], rows, columns))
                .collect()
        };
        for trans in [[false, false], [true, false], [false, true], [true, true]] {
            let a = if trans[0] { transposed(&a, 4, m, k) } else { a.clone() };
            let b = if trans[1] { transposed(&b, 2, k, n) } else { b.clone() };
            let a_strides = if trans[0] { [1, m] } else { [k, 1] };
            let b_strides = if trans[1] { [1, k] } else { [n, 1] };
            for (ranks, target) in [(1, TARGETS[0]), (2, TARGETS[1]), (3, TARGETS[2])] {
                let shape = BatchShape { m, k, n, a_strides, b_strides, offsets: offsets.clone() };
                let driver = BatchedMatMul::new(&target, shape, 0.125, Epilogue { bias: true, ..Epilogue::NONE });
                let inputs = [&a, &b, &bias].map(|x| bytemuck::cast_slice(x));
                let y = run_one::<f32>(driver, ranks, &inputs, 4 * m * n).unwrap();
                assert_close(&y, &expected, tolerance(k, 1.0), &format!("{m}x{k}x{n} {trans:?}"));
            }
        }
    }
}
