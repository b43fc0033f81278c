use kernels::tensor::DType;

use crate::testing::{Model, Value};

const M: usize = 3;
const K: usize = 9;
const N: usize = 67;

fn bytes(len: usize, seed: usize) -> Vec<u8> {
    (0..len).map(|i| ((i * 97 + seed * 31 + i / 7 * 13) % 256) as u8).collect()
}

/// Exact `(a - az) x (b - bz)`.
fn sums(a: &[i32], az: impl Fn(usize) -> i32, b: &[i32], bz: impl Fn(usize) -> i32) -> Vec<i32> {
    (0..M * N)
        .map(|i| {
            let (row, column) = (i / N, i % N);
            (0..K).map(|d| (a[row * K + d] - az(row)) * (b[d * N + column] - bz(column))).sum()
        })
        .collect()
}

fn unsigned(x: &[u8]) -> Vec<i32> {
    x.iter().map(|&x| x.into()).collect()
}

#[test]
fn integers_with_zero_points() {
    let (a, b, az, bz) = (bytes(M * K, 1), bytes(K * N, 2), bytes(M, 3), bytes(N, 4));
    for (a_count, b_count) in [(0, 0), (1, 0), (0, 1), (M, N), (1, N)] {
        let mut model = Model::new();
        model.version(10).input::<u8>("a", &[M, K]).constant("b", &[K, N], &b).typed("y", DType::I32, vec![]);
        let mut inputs = vec![Value::new(&[M, K], &a)];
        let a_name = if a_count > 0 { "az" } else { "" };
        if a_count > 0 {
            model.input::<u8>("az", &[a_count]);
            inputs.push(Value::new(&[a_count], &az[..a_count]));
        }
        let b_name = if b_count > 0 { "bz" } else { "" };
        if b_count > 0 {
            model.constant("bz", &[b_count], &bz[..b_count]);
        }
        model.node("MatMulInteger", &["a", "b", a_name, b_name], &["y"], vec![]).output("y");
        let pick = |values: &[u8], count: usize, index: usize| match count {
            0 => 0,
            1 => i32::from(values[0]),
            _ => i32::from(values[index]),
        };
        let expected =
            sums(&unsigned(&a), |row| pick(&az, a_count, row), &unsigned(&b), |column| pick(&bz, b_count, column));
        assert_eq!(model.run(&inputs).unwrap()[0], Value::new(&[M, N], &expected), "{a_count} {b_count}");
    }
}

#[test]
fn signed_sides_and_float_results() {
    let (a, b): (Vec<i8>, Vec<i8>) =
        (bytes(M * K, 1).iter().map(|&x| x as i8).collect(), bytes(K * N, 2).iter().map(|&x| x as i8).collect());
    let bias: Vec<f32> = (0..N).map(|i| i as f32 / 8.0).collect();
    let mut model = Model::new();
    model.domain("com.microsoft").version(1).input::<i8>("a", &[M, K]).constant("b", &[K, N], &b);
    model.input::<f32>("as", &[]).constant("bs", &[], &[0.02f32]).constant("bias", &[N], &bias);
    model.constant("az", &[], &[-3i8]).typed("y", DType::F32, vec![]);
    model.node("MatMulIntegerToFloat", &["a", "b", "as", "bs", "az", "", "bias"], &["y"], vec![]).output("y");
    let wide = |x: &[i8]| x.iter().map(|&x| i32::from(x)).collect::<Vec<_>>();
    let expected: Vec<f32> = sums(&wide(&a), |_| -3, &wide(&b), |_| 0)
        .iter()
        .enumerate()
        .map(|(i, &sum)| sum as f32 * (0.5 * 0.02f32) + bias[i % N])
        .collect();
    let inputs = [Value::new(&[M, K], &a), Value::new(&[], &[0.5f32])];
    assert_eq!(model.run(&inputs).unwrap()[0], Value::new(&[M, N], &expected));
}

#[test]
fn the_left_side_is_quantised_on_the_way() {
    // Range -25.5..=25.5 makes the scale 0.2 and the zero point 128 (127.5 rounded to even).
    let x: Vec<f32> = (0..M * K)
        .map(|i| {
            if i == 0 {
                -25.5
            } else if i == 1 {
                25.5
            } else {
                (i as f32 - 13.0) * 0.4
            }
        })
        .collect();
    let b: Vec<i8> = bytes(K * N, 2).iter().map(|&x| x as i8).collect();
    let mut model = Model::new();
    model.domain("com.microsoft").version(1).input::<f32>("x", &[M, K]).constant("b", &[K, N], &b);
    model.constant("bs", &[1], &[0.5f32]).node("DynamicQuantizeMatMul", &["x", "b", "bs"], &["y"], vec![]).output("y");
    let scale = 51.0f32 / 255.0;
    let quantised: Vec<i32> = x.iter().map(|x| ((x / scale).round_ties_even() as i32 + 128).clamp(0, 255)).collect();
    let wide: Vec<i32> = b.iter().map(|&x| x.into()).collect();
    let expected: Vec<f32> =
        sums(&quantised, |_| 128, &wide, |_| 0).iter().map(|&sum| sum as f32 * (scale * 0.5)).collect();
    for target in ["host", "k1", "k3"] {
        let y = model.run_with(&[("target", target)], &[Value::new(&[M, K], &x)]).unwrap();
        assert_eq!(y[0], Value::new(&[M, N], &expected), "{target}");
    }
}

#[test]
fn integers_known_at_run_time() {
    let (a, b): (Vec<u8>, Vec<i8>) = (bytes(2 * M * K, 1), bytes(K * N, 2).iter().map(|&x| x as i8).collect());
    let mut model = Model::new();
    model.version(10).input::<u8>("a", &[2, M, K]).input::<i8>("b", &[K, N]).input::<u8>("az", &[1]);
    model.input::<i8>("bz", &[]).typed("y", DType::I32, vec![]);
    model.node("MatMulInteger", &["a", "b", "az", "bz"], &["y"], vec![]).output("y");
    let inputs =
        [Value::new(&[2, M, K], &a), Value::new(&[K, N], &b), Value::new(&[1], &[12u8]), Value::new(&[], &[-7i8])];
    let wide: Vec<i32> = b.iter().map(|&x| x.into()).collect();
    let expected: Vec<i32> = a.chunks(M * K).flat_map(|a| sums(&unsigned(a), |_| 12, &wide, |_| -7)).collect();
    assert_eq!(model.run(&inputs).unwrap()[0], Value::new(&[2, M, N], &expected));
}

#[test]
fn scales_of_any_value_are_multiplied() {
    let (a, b) = (bytes(M * K, 1), bytes(K * N, 2));
    let of = [-0.1f32, 0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1e-30, 1e30];
    let scales: Vec<f32> = (0..N).map(|column| of[column % of.len()]).collect();
    let mut model = Model::new();
    model.domain("com.microsoft").version(1).input::<u8>("a", &[M, K]).constant("b", &[K, N], &b);
    model.input::<f32>("as", &[]).constant("bs", &[N], &scales).typed("y", DType::F32, vec![]);
    model.node("MatMulIntegerToFloat", &["a", "b", "as", "bs"], &["y"], vec![]).output("y");
    let sums = sums(&unsigned(&a), |_| 0, &unsigned(&b), |_| 0);
    for a_scale in [-2.0f32, 0.0, f32::INFINITY, f32::NAN] {
        let y = model.run(&[Value::new(&[M, K], &a), Value::new(&[], &[a_scale])]).unwrap();
        for (i, (y, &sum)) in y[0].values::<f32>().iter().zip(&sums).enumerate() {
            let expected = sum as f32 * (a_scale * scales[i % N]);
            assert!(*y == expected || (y.is_nan() && expected.is_nan()), "{a_scale} {}: {y}", scales[i % N]);
        }
    }
}

#[test]
fn a_quantised_tensor_of_zeros_has_the_product_zero() {
    let mut model = Model::new();
    model.version(11).input::<f32>("x", &[M, K]).typed("q", DType::U8, vec![]).typed("z", DType::U8, vec![]);
    model.typed("s", DType::F32, vec![]).typed("y", DType::I32, vec![]);
    model.node("DynamicQuantizeLinear", &["x"], &["q", "s", "z"], vec![]).constant("b", &[K, N], &bytes(K * N, 2));
    model.version(10).node("MatMulInteger", &["q", "b", "z"], &["y"], vec![]).output("y");
    assert_eq!(model.run(&[Value::new(&[M, K], &[0f32; M * K])]).unwrap()[0], Value::new(&[M, N], &[0i32; M * N]));
}
