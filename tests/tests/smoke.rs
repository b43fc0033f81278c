//! The least that has to work wherever the plugin loads: right answers, from our provider or after it declines.

use e2e::onnx::{self, FLOAT, GraphProto, floats, node, value};
use e2e::{EP_NAME, builder, environment};
use ort::value::Tensor;

const M: usize = 5;
const K: usize = 19;
const N: usize = 7;

/// Small whole numbers, whose products and sums every order of addition computes exactly.
fn numbers(count: usize, seed: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 7 + seed) % 11) as f32 - 5.0).collect()
}

#[test]
fn the_plugin_offers_its_device() {
    let devices = environment().devices();
    assert_eq!(devices.filter(|device| device.ep().is_ok_and(|name| name == EP_NAME)).count(), 1);
}

#[test]
fn a_small_network_computes_what_plain_loops_do() {
    let (x, w, b) = (numbers(M * K, 1), numbers(K * N, 2), numbers(N, 3));
    let model = onnx::model(GraphProto {
        name: "layer".into(),
        input: vec![value("x", FLOAT, "m,19")],
        output: vec![value("y", FLOAT, "m,7")],
        initializer: vec![floats("w", &[K as i64, N as i64], &w), floats("b", &[N as i64], &b)],
        node: vec![
            node("MatMul", &["x", "w"], &["product"]),
            node("Add", &["product", "b"], &["sum"]),
            node("Relu", &["sum"], &["y"]),
        ],
        ..GraphProto::default()
    });
    let expected: Vec<f32> = (0..M * N)
        .map(|p| (0..K).map(|k| x[p / N * K + k] * w[k * N + p % N]).sum::<f32>() + b[p % N])
        .map(|sum| sum.max(0.0))
        .collect();
    let mut session = builder(&[]).unwrap().commit_from_memory(&model).unwrap();
    let outputs = session.run(ort::inputs!["x" => Tensor::from_array(([M, K], x)).unwrap()]).unwrap();
    let (shape, y) = outputs["y"].try_extract_tensor::<f32>().unwrap();
    assert_eq!((&**shape, y), (&[M as i64, N as i64][..], &expected[..]));
}
