use super::cases::{block, code};
use super::*;
use crate::ops::matmul_nbits::engine::Method;

/// Targets whose layouts differ.
const TARGETS: [Target; 3] = [Target::k1(), Target::k3(), Target::rvv(128)];

#[test]
fn every_target_has_its_kernels() {
    for (target, expected) in [
        (Target::k1(), ["f32 by rvv_6x32x1", "int8 by ime1_4x16x16"]),
        (Target::k3(), ["f32 by rvv_16x32x1", "int8 by ime2_8x32x32"]),
        (Target::rvv(128), ["f32 by rvv_3x32x1", "int8 by rvv_2x32x1"]),
        (Target::scalar(), ["f32 by scalar_4x32x1", "int8 by scalar_2x32x1"]),
        (Target::host(1), ["f32", "int8"]),
    ] {
        let methods = [Compute::F32, Compute::Int8].map(|compute| Engine::new(&target, compute).method(1).to_string());
        assert_eq!(methods, expected);
    }
    let many = |target| Engine::new(&target, Compute::Int8).method(64).to_string();
    assert_eq!([Target::k1(), Target::k3()].map(many), ["int8 by ime1_8x16x16", "f16 by ime2_16x32x8"]);
}

#[test]
fn products_on_chips_are_right() {
    for (target, bits) in TARGETS.iter().flat_map(|target| [2, 4, 8].map(|bits| (target, bits))) {
        for (k, n) in [(1, 1), (40, 17), (257, 33)] {
            for block in [16, 32, 96, 1024] {
                let shape = NBitsShape::new(k, n, bits, block).unwrap();
                for (m, ranks) in [(1, 1), (5, 2), (50, 3)] {
                    check(target, shape, [Zero::Absent, Zero::Whole, Zero::Broken][(m + k) % 3], m, ranks);
                }
            }
        }
    }
}

/// A row in int8 and the scales of its groups, rounded where chips round.
fn quantized(a: &[f32], group: usize) -> (Vec<i32>, Vec<f32>) {
    let largest: Vec<f32> = a.chunks(group).map(|a| a.iter().fold(0.0, |largest, a| a.abs().max(largest))).collect();
    let code =
        |(a, &largest): (&f32, &f32)| if largest == 0.0 { 0 } else { (a * (127.0 / largest)).round_ties_even() as i32 };
    let codes = a.iter().zip(largest.iter().flat_map(|largest| std::iter::repeat_n(largest, group))).map(code);
    (codes.collect(), largest.iter().map(|largest| largest / 127.0).collect())
}

/// Whole zero points leave one exact integer for each group, so every further rounding is known. Groups are added to one of
/// `sums` sums in turn, of which in the end the upper half is added to the lower one until one is left.
fn to_the_bit(case: &Case, a: &[f32], column: usize, group: usize, sums: usize) -> f32 {
    let (shape, blocks) = (&case.shape, case.shape.blocks());
    let (codes, scales) = quantized(a, group);
    let mut sums = vec![0f32; sums];
    for (index, (codes, scale)) in codes.chunks(group).zip(scales).enumerate() {
        let parameter = column * blocks + index * group / block(shape);
        let zero_point = case.zero_points.as_ref().map_or(1 << (shape.bits() - 1), |points| points[parameter] as i32);
        let weight = |row: usize| code(shape, index * group + row, column) as i32 - zero_point;
        let product: i32 = codes.iter().enumerate().map(|(row, a)| a * weight(row)).sum();
        let turn = index % sums.len();
        sums[turn] = (product as f32 * scale).mul_add(case.scales[parameter], sums[turn]);
    }
    while sums.len() > 1 {
        let upper = sums.split_off(sums.len() / 2);
        sums.iter_mut().zip(upper).for_each(|(sum, upper)| *sum += upper);
    }
    sums[0]
}

/// Sums that the groups of a product are added to, on the target that is the `index`th of [`TARGETS`].
fn sums(index: usize, m: usize) -> usize {
    if m == 1 { [4, 8, 1][index] } else { 1 }
}

#[test]
fn int8_products_on_chips_are_known_to_the_bit() {
    for (index, bits) in (0..TARGETS.len()).flat_map(|index| [2, 4, 8].map(|bits| (index, bits))) {
        let (target, sums) = (&TARGETS[index], |m| sums(index, m));
        // Of the last one, rows that fit K1's scratchpad come in several blocks.
        for (k, n, block) in [(64, 40, 16), (300, 33, 32), (300, 17, 128), (520, 18, 256), (2100, 3, 32)] {
            for (m, zero) in [(1, Zero::Whole), (11, Zero::Absent), (60, Zero::Whole)] {
                let engine = Engine::new(target, Compute::Int8);
                let method = engine.method(m);
                if let Method::F16(_) = method {
                    continue;
                }
                let case = case(NBitsShape::new(k, n, bits, block).unwrap(), zero, false, false);
                let mut a = floats(m * k, 1);
                // Groups of zeros, of tiny and of huge numbers.
                a[..16].fill(0.0);
                a[16..32].fill(1e-36);
                a.iter_mut().skip(32).take(16).for_each(|a| *a *= 1e30);
                let y = run(&case, &a, m, engine, 2);
                for (index, y) in y.iter().enumerate() {
                    let a = &a[index / n * k..][..k];
                    let expected = to_the_bit(&case, a, index % n, group(engine, &case.shape), sums(m));
                    assert_eq!(y.to_bits(), expected.to_bits(), "{method} m={m} {} {zero:?}: {index}", case.shape);
                }
            }
        }
    }
}

#[test]
fn ranks_of_a_chip_share_large_products() {
    for (target, m) in [(Target::k1(), 1), (Target::k3(), 70)] {
        for bits in [4, 8] {
            let shape = NBitsShape::per_column(300, 520, bits).unwrap();
            (1..=3).for_each(|ranks| check(&target, shape, Zero::Whole, m, ranks));
        }
    }
}

#[test]
fn extreme_codes_do_not_overflow_on_chips() {
    for (target, bits) in TARGETS.iter().flat_map(|target| [2, 4, 8].map(|bits| (target, bits))) {
        let engine = Engine::new(target, Compute::Int8);
        let shape = NBitsShape::new(4096, 3, bits, 1024).unwrap();
        let bytes = vec![0xff; 4096 * 3 * bits / 8];
        let codes = Codes { bytes: &bytes, signed: false, row_stride: 1, column_stride: 4096 };
        let weights = NBitsWeights::pack(engine.layout(), shape, codes, &[1.0; 12], Some(&[0.0; 12])).unwrap();
        let driver = MatMulNBits::new(1, engine, Arc::new(weights), Epilogue::NONE);
        let y = run_one::<f32>(driver, 1, &[bytemuck::cast_slice(&[-1f32; 4096])], 3).unwrap();
        let expected = -4096.0 * ((1u32 << bits) - 1) as f32;
        let tolerance = expected.abs() * 4096.0 * f32::EPSILON;
        assert!(y.iter().all(|y| (y - expected).abs() <= tolerance), "{target:?}: {y:?} instead of {expected}");
    }
}

#[test]
fn numbers_that_are_not_finite_show_in_their_row_only_on_chips() {
    let case = case(NBitsShape::new(64, 5, 4, 32).unwrap(), Zero::Whole, false, false);
    for (target, bad) in TARGETS.iter().flat_map(|target| [f32::NAN, f32::NEG_INFINITY].map(|bad| (target, bad))) {
        for engine in [Compute::F32, Compute::Int8].map(|compute| Engine::new(target, compute)) {
            let mut a = floats(3 * 64, 1);
            a[64 + 40] = bad;
            let y = run(&case, &a, 3, engine, 1);
            assert!(y[..5].iter().chain(&y[10..]).all(|y| y.is_finite()), "{}", engine.method(3));
            assert!(y[5..10].iter().all(|y| !y.is_finite()), "{}", engine.method(3));
        }
    }
}

#[test]
fn weights_of_another_layout_are_an_error() {
    let case = case(NBitsShape::new(32, 4, 4, 32).unwrap(), Zero::Absent, false, false);
    for compute in [Compute::F32, Compute::Int8] {
        let weights = case.weights(host(compute));
        let driver = MatMulNBits::new(1, Engine::new(&Target::k1(), compute), weights, Epilogue::NONE);
        let result = run_one::<f32>(driver, 1, &[bytemuck::cast_slice(&[0f32; 32])], 4);
        assert!(matches!(result, Err(RunError::Weights(_))));
    }
}

#[test]
fn rows_and_weights_of_any_size_fit_f16() {
    let (k, n, m) = (100, 40, 4);
    let engine = Engine::new(&Target::k3(), Compute::Int8);
    for scale in [1e-30, 1e-5, 1e6, 1e30f32] {
        let mut case = case(NBitsShape::new(k, n, 4, 32).unwrap(), Zero::Whole, false, false);
        case.scales.iter_mut().for_each(|own| *own *= scale);
        case.values.iter_mut().for_each(|value| *value *= f64::from(scale));
        let mut a = floats(m * k, 1);
        for (row, factor) in [1e-38, 1e-6, 1e5, 1e7].into_iter().enumerate() {
            a[row * k..][..k].iter_mut().for_each(|a| *a *= factor);
        }
        let y = run(&case, &a, m, engine, 1);
        for (index, (y, exact)) in y.iter().zip(product(&a, &case.values, [m, k, n])).enumerate() {
            // Both sides are rounded to 11 bits, a weight three times; what is smaller than 2^-24 of the largest is lost.
            let largest = a[index / n * k..][..k].iter().fold(0.0, |largest: f64, a| largest.max(f64::from(a.abs())));
            let bound =
                k as f64 * largest * case.largest * f64::from(scale) * 5.0 / 2048.0 + f64::from(f32::MIN_POSITIVE);
            assert!((f64::from(*y) - exact).abs() <= bound, "{scale} {index}: {y} is not {exact}");
        }
    }
}
