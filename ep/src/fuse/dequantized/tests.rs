use kernels::tensor::DType;

use crate::fuse::tests::{check, fused, noise};
use crate::ir::{Attr, Dim};
use crate::testing::{Model, Value};

const K: usize = 64;
const N: usize = 24;

/// Products of 64 terms below 2 * 31 * 2.
const TOLERANCE: f32 = 1e-5;

/// A model with an int4 weight `[N, K]` in blocks of 32 along K, as exporters of decoders write it.
fn start() -> Model {
    let mut model = Model::new();
    let codes: Vec<u8> = (0..N * K / 2).map(|i| (i * 37 + i / 3) as u8).collect();
    model.input::<f32>("x", &[3, K]).nibbles("b", DType::I4, &[N, K], &codes);
    model.constant("scales", &[N, K / 32], &noise(2, &[N, K / 32])).constant("bias", &[N], &noise(3, &[N]));
    model.typed("weight", DType::F32, vec![]).typed("turned", DType::F32, vec![]);
    let attrs = vec![("axis", Attr::Int(-1)), ("block_size", Attr::Int(32))];
    model.node("DequantizeLinear", &["b", "scales"], &["weight"], attrs);
    model
}

fn turn(model: &mut Model) {
    model.node("Transpose", &["weight"], &["turned"], vec![("perm", Attr::Ints(vec![1, 0]))]);
}

fn inputs() -> [Value; 1] {
    [Value::new(&[3, K], &noise(5, &[3, K]))]
}

#[test]
fn a_transposed_weight_of_half_bytes_stays_packed() {
    let mut model = start();
    turn(&mut model);
    model.node("MatMul", &["x", "turned"], &["product"], vec![]).node("Add", &["product", "bias"], &["sum"], vec![]);
    model.node("Relu", &["sum"], &["y"], vec![]).output("y");
    for inner in ["turned", "product"] {
        check(&model, &["spacemit.DequantizedLinear"], inner, &inputs(), TOLERANCE);
    }
}

#[test]
fn gemm_takes_a_weight_of_bytes_with_scales_of_columns() {
    let mut model = Model::new();
    let codes: Vec<i8> = (0..N * K).map(|i| (i * 37 + i / 3) as i8).collect();
    model.input::<f32>("x", &[3, K]).constant("b", &[N, K], &codes).constant("scales", &[N], &noise(2, &[N]));
    model.constant("bias", &[N], &noise(3, &[N])).typed("weight", DType::F32, [N, K].map(Dim::Known).to_vec());
    model.node("DequantizeLinear", &["b", "scales"], &["weight"], vec![("axis", Attr::Int(0))]);
    model.node("Gemm", &["x", "weight", "bias"], &["y"], vec![("transB", Attr::Int(1))]).output("y");
    check(&model, &["spacemit.DequantizedLinear"], "weight", &inputs(), TOLERANCE);
}

#[test]
fn near_misses_stay() {
    let gemm = |attr: (&'static str, Attr<'static>)| {
        let mut model = start();
        turn(&mut model);
        model.node("Gemm", &["x", "turned", "bias"], &["y"], vec![attr]).output("y");
        fused(&model)
    };
    assert_eq!(gemm(("beta", Attr::Float(1.0))), ["spacemit.DequantizedLinear"]);
    assert_eq!(gemm(("alpha", Attr::Float(0.5))), ["DequantizeLinear", "Transpose", "Gemm"]);
    // Scales of rows of the product's weight cannot be applied to its columns.
    let mut rows = Model::new();
    rows.input::<f32>("x", &[3, K]).constant("b", &[K, N], &[1i8; K * N]).constant("scales", &[K], &[1f32; K]);
    rows.typed("weight", DType::F32, vec![]);
    rows.node("DequantizeLinear", &["b", "scales"], &["weight"], vec![("axis", Attr::Int(0))]);
    rows.node("MatMul", &["x", "weight"], &["y"], vec![]).output("y");
    assert_eq!(fused(&rows), ["DequantizeLinear", "MatMul"]);
}
