use crate::fuse::tests::{check, fused, noise};
use crate::ir::Attr;
use crate::testing::{Model, Value};

const K: usize = 64;
const N: usize = 24;

fn attrs() -> Vec<(&'static str, Attr<'static>)> {
    // ONNX Runtime writes all defaults down.
    [("K", K as i64), ("N", N as i64), ("bits", 4), ("block_size", 32), ("accuracy_level", 0), ("weight_prepacked", 0)]
        .map(|(name, value)| (name, Attr::Int(value)))
        .to_vec()
}

/// A model with the constants of a weight `b`, a bias and an input `x`.
fn start() -> Model {
    let mut model = Model::new();
    model.input::<f32>("x", &[2, 3, K]).input::<f32>("residual", &[2, 3, N]);
    let codes: Vec<u8> = (0..N * K / 2).map(|i| (i * 37 + i / 3) as u8).collect();
    model.constant("b", &[N, K / 32, 16], &codes).constant("scales", &[N, K / 32], &noise(2, &[N, K / 32]));
    model.constant("bias", &[N], &noise(3, &[N])).constant("gain", &[N], &noise(4, &[N]));
    model
}

fn product(model: &mut Model, inputs: &[&str]) {
    model.domain("com.microsoft").version(1).node("MatMulNBits", inputs, &["product"], attrs());
    model.domain("").version(21);
}

fn inputs() -> [Value; 2] {
    [Value::new(&[2, 3, K], &noise(5, &[2, 3, K])), Value::new(&[2, 3, N], &noise(6, &[2, 3, N]))]
}

#[test]
fn bias_silu_and_residual_follow_the_product() {
    let mut model = start();
    product(&mut model, &["x", "b", "scales"]);
    model.node("Add", &["product", "bias"], &["sum"], vec![]).node("Sigmoid", &["sum"], &["gate"], vec![]);
    model.node("Mul", &["sum", "gate"], &["active"], vec![]);
    model.node("Add", &["residual", "active"], &["y"], vec![]).output("y");
    // Sums of 64 terms below 2 * 15 * 2.
    for inner in ["product", "active"] {
        check(&model, &["spacemit.NBitsLinear"], inner, &inputs(), 1e-5);
    }
}

#[test]
fn the_bias_of_the_operator_is_kept() {
    let mut model = start();
    product(&mut model, &["x", "b", "scales", "", "", "bias"]);
    model.node("Relu", &["product"], &["y"], vec![]).output("y");
    check(&model, &["spacemit.NBitsLinear"], "product", &inputs(), 1e-5);
}

#[test]
fn near_misses_stay() {
    let mut model = start();
    product(&mut model, &["x", "b", "scales", "", "", "bias"]);
    model.node("Add", &["product", "gain"], &["sum"], vec![]).node("Mul", &["sum", "gain"], &["y"], vec![]).output("y");
    // A second bias is a residual; a factor is nothing that a linear layer has.
    assert_eq!(fused(&model), ["spacemit.NBitsLinear", "Mul"]);
    let mut ordered = start();
    ordered.constant("order", &[K], &[0i32; K]);
    product(&mut ordered, &["x", "b", "scales", "", "order"]);
    assert_eq!(fused(ordered.output("product")), ["com.microsoft.MatMulNBits"]);
}
