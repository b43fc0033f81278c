use crate::ir::Attr;
use crate::ops::matmul::tests::whole;
use crate::testing::{Model, Value};

const DIMS: [usize; 3] = [2, 3, 5];
const N: usize = 66;

/// `x[2, 3, 5] x w[5, N]`, row-major.
fn product(x: &[f32], w: &[f32]) -> Vec<f32> {
    (0..6 * N).map(|i| (0..5).map(|d| x[i / N * 5 + d] * w[d * N + i % N]).sum()).collect()
}

#[test]
fn bias_activation_and_residual_of_every_shape() {
    let (x, w, bias) = (whole(30, 1), whole(5 * N, 2), whole(N, 3));
    let residuals: [&[usize]; 7] = [&[2, 3, N], &[3, N], &[1, N], &[N], &[2, 1, N], &[2, 3, 1], &[]];
    for dims in residuals {
        let residual = whole(dims.iter().product(), 4);
        let full = |index: usize| {
            let place = [index / N / 3, index / N % 3, index % N];
            let offset = dims
                .iter()
                .zip(&place[3 - dims.len()..])
                .fold(0, |offset, (&size, &position)| offset * size + if size == 1 { 0 } else { position });
            residual[offset]
        };
        for first in [false, true] {
            let mut model = Model::new();
            model.domain("spacemit").version(1).input::<f32>("x", &DIMS).constant("w", &[5, N], &w);
            model.constant("bias", &[N], &bias).input::<f32>("r", dims);
            let attrs = vec![
                ("activation", Attr::Str("relu".into())),
                ("alpha", Attr::Float(2.0)),
                ("residual_first", Attr::Int(first.into())),
            ];
            model.node("Linear", &["x", "w", "bias", "r"], &["y"], attrs).output("y");
            let expected: Vec<f32> = product(&x, &w)
                .iter()
                .enumerate()
                .map(|(i, sum)| {
                    let x = 2.0 * sum + bias[i % N];
                    if first { (x + full(i)).max(0.0) } else { x.max(0.0) + full(i) }
                })
                .collect();
            let y = model.run(&[Value::new(&DIMS, &x), Value::new(dims, &residual)]).unwrap();
            assert_eq!(y[0], Value::new(&[2, 3, N], &expected), "{dims:?} {first}");
        }
    }
}

#[test]
fn a_residual_may_broadcast_the_product() {
    let mut model = Model::new();
    model.domain("spacemit").version(1).input::<f32>("x", &[1, 2]).input::<f32>("r", &[3, 1, 1]);
    model.constant("w", &[2, 2], &[1f32, 2.0, 3.0, 4.0]).constant("bias", &[2], &[0f32, -20.0]);
    let attrs = vec![("activation", Attr::Str("relu".into()))];
    model.node("Linear", &["x", "w", "bias", "r"], &["y"], attrs).output("y");
    let y = model.run(&[Value::new(&[1, 2], &[1f32, 2.0]), Value::new(&[3, 1, 1], &[10f32, 20.0, -30.0])]).unwrap();
    assert_eq!(y[0], Value::new(&[3, 1, 2], &[17f32, 10.0, 27.0, 20.0, -23.0, -30.0]));
}

#[test]
fn activations_have_their_names() {
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let cases: [(&str, &dyn Fn(f64) -> f64); 8] = [
        ("", &|x| x),
        ("relu", &|x| x.max(0.0)),
        ("gelu", &kernels::reference::matmul::gelu),
        ("gelu_tanh", &|x| 0.5 * x * (1.0 + (0.797_884_560_802_865_4 * (x + 0.044715 * x * x * x)).tanh())),
        ("silu", &|x| x * sigmoid(x)),
        ("quick_gelu", &|x| x * sigmoid(1.702 * x)),
        ("sigmoid", &sigmoid),
        ("tanh", &f64::tanh),
    ];
    for (name, formula) in cases {
        let mut model = Model::new();
        model.domain("spacemit").version(1).input::<f32>("x", &[4, 1]).constant("w", &[1, 1], &[1f32]);
        model.node("Linear", &["x", "w"], &["y"], vec![("activation", Attr::Str(name.into()))]).output("y");
        let x = [-1.5f32, -0.5, 0.5, 2.0];
        let y = model.run(&[Value::new(&[4, 1], &x)]).unwrap();
        for (&x, &y) in x.iter().zip(y[0].values::<f32>()) {
            assert!((f64::from(y) - formula(x.into())).abs() < 1e-6, "{name}({x}) is {y}");
        }
    }
    let mut model = Model::new();
    model.domain("spacemit").version(1).input::<f32>("x", &[1, 1]).constant("w", &[1, 1], &[1f32]);
    model.node("Linear", &["x", "w"], &["y"], vec![("activation", Attr::Str("swoosh".into()))]).output("y");
    assert!(model.run(&[Value::new(&[1, 1], &[0f32])]).unwrap_err().to_string().contains("swoosh"));
}

#[test]
fn quantised_layers_scale_exactly() {
    let x: Vec<u8> = (0..30).map(|i| (i * 37 % 256) as u8).collect();
    let w: Vec<i8> = (0..5 * N).map(|i| (i * 29 % 256) as u8 as i8).collect();
    let (scales, bias) = ((0..N).map(|i| 0.01 + i as f32 / 1000.0).collect::<Vec<_>>(), whole(N, 3));
    let residual = whole(6 * N, 4);
    let mut model = Model::new();
    model.domain("spacemit").version(1).input::<u8>("x", &DIMS).input::<f32>("xs", &[]).input::<u8>("xz", &[1]);
    model.constant("w", &[5, N], &w).constant("ws", &[N], &scales).constant("bias", &[N], &bias);
    model.input::<f32>("r", &[2, 3, N]).typed("y", kernels::tensor::DType::F32, vec![]);
    model.node("QLinear", &["x", "xs", "xz", "w", "ws", "", "bias", "r"], &["y"], vec![]).output("y");
    let inputs = [
        Value::new(&DIMS, &x),
        Value::new(&[], &[0.25f32]),
        Value::new(&[1], &[7u8]),
        Value::new(&[2, 3, N], &residual),
    ];
    let expected: Vec<f32> = (0..6 * N)
        .map(|i| {
            let sum: i32 = (0..5).map(|d| (i32::from(x[i / N * 5 + d]) - 7) * i32::from(w[d * N + i % N])).sum();
            sum as f32 * (0.25 * scales[i % N]) + bias[i % N] + residual[i]
        })
        .collect();
    assert_eq!(model.run(&inputs).unwrap()[0], Value::new(&[2, 3, N], &expected));
}

/// The option lets a chip with vectors of f16 round both operands to f16; products of f16 are exact in f32, so the error is
/// that of the operands: at most 2^-11 of each, and of f32 sums.
#[test]
fn operands_become_f16_where_accuracy_allows_it() {
    let (k, scale) = (40, 1.0 / 3.0);
    let numbers = |len: usize, seed: usize| -> Vec<f32> {
        (0..len).map(|i| ((i * 7 + seed) % 23) as f32 * scale - 3.0).collect()
    };
    let (x, w) = (numbers(3 * k, 1), numbers(k * N, 5));
    let run = |options: &[(&str, &str)], w: &[f32]| {
        let mut model = Model::new();
        model.domain("spacemit").version(1).input::<f32>("x", &[3, k]).constant("w", &[k, N], w);
        model.node("Linear", &["x", "w"], &["y"], vec![]).output("y");
        model.run_with(options, &[Value::new(&[3, k], &x)]).unwrap()[0].values::<f32>().to_vec()
    };
    for target in ["k1", "k3"] {
        let exact = run(&[("target", target)], &w);
        let rounded = run(&[("target", target), ("accuracy", "fp16")], &w);
        assert_ne!(exact, rounded, "{target} rounds nothing");
        for (index, (exact, rounded)) in exact.iter().zip(&rounded).enumerate() {
            let (row, column) = (index / N, index % N);
            let sum: f32 = (0..k).map(|d| (x[row * k + d] * w[d * N + column]).abs()).sum();
            let bound = sum * (2.0 / 2048.0 + 1.0 / 4096.0 / 1024.0 + 2.0 * k as f32 * f32::EPSILON);
            assert!((exact - rounded).abs() <= bound, "{target} {index}: {exact} {rounded}");
        }
        let mut large = w.clone();
        large[0] = 70000.0;
        let as_f32 = run(&[("target", target)], &large);
        assert_eq!(run(&[("target", target), ("accuracy", "fp16")], &large), as_f32, "f16 does not have the weight");
    }
    assert_eq!(run(&[("accuracy", "fp16")], &w), run(&[], &w), "a host gains nothing by f16");
}
