use super::*;
use crate::tensor::DType;
use crate::testing::{floats, run, run_one};

/// Round half to even by comparing distances, in f64.
fn round_half_even(x: f64) -> f64 {
    let (below, above) = (x.floor(), x.ceil());
    match (x - below).total_cmp(&(above - x)) {
        std::cmp::Ordering::Less => below,
        std::cmp::Ordering::Greater => above,
        std::cmp::Ordering::Equal => {
            if below % 2.0 == 0.0 {
                below
            } else {
                above
            }
        }
    }
}

/// The quotient is an f32, as ONNX Runtime computes it.
fn expected(x: f32, scale: f32, zero_point: i32, low: i32, high: i32) -> i32 {
    let quotient = f64::from(x / scale);
    if quotient.is_nan() {
        return low;
    }
    (round_half_even(quotient) + f64::from(zero_point)).clamp(f64::from(low), f64::from(high)) as i32
}

fn check_quantize<T: Quantized + std::fmt::Debug + PartialEq>(
    groups: Groups,
    zero_points: &[T],
    index: &dyn Fn(usize) -> usize,
) {
    let mut x: Vec<f32> = floats(groups.len(), 1).iter().map(|x| x * 300.0).collect();
    let special = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.25, 0.75, -0.25, -0.75, 1e30, -1e30, 0.0];
    x.iter_mut().zip(special).for_each(|(x, special)| *x = special);
    let scales: Vec<f32> = floats(groups.scales(), 2).iter().map(|s| s.abs() + 0.5).collect();
    for ranks in 1..=3 {
        let driver = QuantizeLinear::new(groups, T::DTYPE, !zero_points.is_empty());
        let inputs = [bytemuck::cast_slice(&x), bytemuck::cast_slice(&scales), bytemuck::cast_slice(zero_points)];
        let y = run_one::<T>(driver, ranks, &inputs, x.len()).unwrap();
        for (i, &y) in y.iter().enumerate() {
            let zero_point = zero_points.get(index(i)).map_or(0, |z| z.to_i32());
            let expected = expected(x[i], scales[index(i)], zero_point, T::MIN, T::MAX);
            assert_eq!(y.to_i32(), expected, "{groups:?} {:?} element {i}: {}", T::DTYPE, x[i]);
        }
        let driver = DequantizeLinear::new(groups, T::DTYPE, !zero_points.is_empty());
        let inputs = [bytemuck::cast_slice(&y), bytemuck::cast_slice(&scales), bytemuck::cast_slice(zero_points)];
        let back = run_one::<f32>(driver, ranks, &inputs, x.len()).unwrap();
        for (i, &back) in back.iter().enumerate() {
            let zero_point = zero_points.get(index(i)).map_or(0, |z| z.to_i32());
            assert_eq!(back, (y[i].to_i32() - zero_point) as f32 * scales[index(i)], "{groups:?} element {i}");
        }
    }
}

fn check_groups<T: Quantized + std::fmt::Debug + PartialEq>() {
    let zero_points =
        |count: usize| -> Vec<T> { (0..count).map(|i| T::from_i32(T::MIN + (i as i32 * 37) % 256)).collect() };
    for len in [1, 63, 64, 67, 20_000] {
        check_quantize(Groups::tensor(len), &zero_points(1), &|_| 0);
        check_quantize::<T>(Groups::tensor(len), &[], &|_| 0);
    }
    for (outer, axis, inner) in [(3, 5, 7), (2, 300, 1), (1, 4, 3000), (7, 1, 1)] {
        let groups = Groups { outer, axis, inner, per: Granularity::Axis };
        check_quantize(groups, &zero_points(axis), &|i| i / inner % axis);
        for block in [1, 2, 3, axis] {
            let groups = Groups { per: Granularity::Block(block), ..groups };
            let index = |i: usize| {
                let (o, a) = (i / inner / axis, i / inner % axis);
                (o * axis.div_ceil(block) + a / block) * inner + i % inner
            };
            check_quantize(groups, &zero_points(groups.scales()), &index);
        }
    }
}

#[test]
fn all_types_and_groups_round_and_saturate() {
    check_groups::<u8>();
    check_groups::<i8>();
    check_groups::<u16>();
    check_groups::<i16>();
}

fn check_scale<T: Quantized>(scale: f32) {
    // Halves of both signs in every lane and in the tail.
    let x: Vec<f32> = (0..135).map(|i| i as f32 / 2.0 - 33.5).collect();
    let inputs = [bytemuck::cast_slice(&x), bytemuck::bytes_of(&scale)];
    let y = run_one::<T>(QuantizeLinear::new(Groups::tensor(x.len()), T::DTYPE, false), 1, &inputs, x.len()).unwrap();
    for (x, y) in x.iter().zip(&y) {
        assert_eq!(y.to_i32(), expected(*x, scale, 0, T::MIN, T::MAX), "{x} / {scale} as {:?}", T::DTYPE);
    }
    let inputs = [bytemuck::cast_slice(&y), bytemuck::bytes_of(&scale)];
    let driver = DequantizeLinear::new(Groups::tensor(x.len()), T::DTYPE, false);
    for (y, back) in y.iter().zip(run_one::<f32>(driver, 1, &inputs, x.len()).unwrap()) {
        let product = y.to_i32() as f32 * scale;
        assert!(back == product || (back.is_nan() && product.is_nan()), "{back} for {product}, scale {scale}");
    }
}

#[test]
fn ties_go_to_even_and_any_scale_is_taken() {
    for scale in [1.0, -1.0, 0.5, -0.1, 0.0, -0.0, 1e-40, f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
        check_scale::<u8>(scale);
        check_scale::<i8>(scale);
        check_scale::<u16>(scale);
        check_scale::<i16>(scale);
    }
}

#[test]
fn i32_is_dequantized() {
    let x = [i32::MIN, -1, 0, 1, i32::MAX];
    let driver = DequantizeLinear::new(Groups::tensor(5), DType::I32, false);
    let y = run_one::<f32>(driver, 1, &[bytemuck::cast_slice(&x), bytemuck::bytes_of(&0.5f32)], 5).unwrap();
    assert_eq!(y, x.map(|x| x as f32 * 0.5));
}

fn dynamic(x: &[f32], ranks: usize) -> (Vec<u8>, f32, u8) {
    let bytes: &[u8] = bytemuck::cast_slice(x);
    let extremes = run_one::<f32>(MinMax::new(x.len()), ranks, &[bytes], MinMax::extremes(x.len())).unwrap();
    let inputs = [bytes, bytemuck::cast_slice(&extremes)];
    let outputs = run(DynamicQuantize::new(x.len()), ranks, &inputs, &[x.len(), 4, 1]).unwrap();
    (outputs[0].to_vec(), bytemuck::cast_slice(&outputs[1])[0], outputs[2][0])
}

#[test]
fn dynamic_ranges_include_zero() {
    for ranks in 1..=3 {
        assert_eq!(dynamic(&[0.0; 3], ranks), (vec![0; 3], 1.0, 0));
        assert_eq!(dynamic(&[], ranks), (vec![], 1.0, 0));
        // The examples of the ONNX operator.
        let (y, scale, zero_point) = dynamic(&[0.0, 2.0, -3.0, -2.5, 1.34, 0.5], ranks);
        assert_eq!((y, scale, zero_point), (vec![153, 255, 0, 26, 221, 179], 5.0 / 255.0, 153));
        let (y, _, zero_point) = dynamic(&[-1.0, -2.1, -1.3, -2.5, -3.34, -4.0], ranks);
        assert_eq!((y, zero_point), (vec![191, 121, 172, 96, 42, 0], 255));
        let (y, _, zero_point) = dynamic(&[1.0, 2.1, 1.3, 2.5, 3.34, 4.0, 1.5, 2.6, 3.9, 4.0, 3.0, 2.345], ranks);
        assert_eq!((y, zero_point), (vec![64, 134, 83, 159, 213, 255, 96, 166, 249, 255, 191, 149], 0));
        let x = floats(50_001, 5);
        let (y, scale, zero_point) = dynamic(&x, ranks);
        let (low, high) = x.iter().fold((0f32, 0f32), |(low, high), &x| (low.min(x), high.max(x)));
        assert_eq!(scale, (high - low) / 255.0);
        let expected = x.iter().map(|&x| expected(x, scale, i32::from(zero_point), 0, 255) as u8);
        assert!(y.iter().copied().eq(expected));
    }
}

#[test]
fn extremes_pass_over_nan() {
    for len in [1, 63, 64, 200] {
        for nan in 0..len {
            let mut x = floats(len, 7);
            x[nan] = f32::NAN;
            let bytes = bytemuck::cast_slice(&x);
            let extremes = run_one::<f32>(MinMax::new(len), 1, &[bytes], 2).unwrap();
            let numbers = || x.iter().copied().filter(|x| !x.is_nan());
            let expected = [numbers().fold(f32::INFINITY, f32::min), numbers().fold(f32::NEG_INFINITY, f32::max)];
            assert_eq!(extremes, expected, "element {nan} of {len}");
        }
    }
}
