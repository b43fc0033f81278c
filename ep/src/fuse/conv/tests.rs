use kernels::tensor::DType;

use crate::fuse::tests::{check, fused, noise};
use crate::ir::{Attr, Dim};
use crate::testing::{Model, Value};

const X: [usize; 4] = [2, 3, 6, 5];
const Y: [usize; 4] = [2, 4, 6, 5];
const W: [usize; 4] = [4, 3, 3, 3];

/// Sums of 27 products below 4.
const TOLERANCE: f32 = 2e-5;

/// `conv` is a convolution of `x` that keeps its height and width.
fn start() -> Model {
    let known = |dims: [usize; 4]| dims.map(Dim::Known).to_vec();
    let mut model = Model::new();
    model.input::<f32>("x", &X).input::<f32>("skip", &Y).constant("w", &W, &noise(2, &W));
    model.constant("bias", &[4], &noise(3, &[4])).typed("conv", DType::F32, known(Y)).typed(
        "sum",
        DType::F32,
        known(Y),
    );
    model.version(11).node("Conv", &["x", "w", "bias"], &["conv"], vec![("pads", Attr::Ints(vec![1; 4]))]);
    model
}

fn inputs() -> [Value; 2] {
    [Value::new(&X, &noise(1, &X)), Value::new(&Y, &noise(4, &Y))]
}

#[test]
fn an_activation_is_taken() {
    for op in ["Relu", "Sigmoid", "Tanh", "Gelu"] {
        let mut model = start();
        model.version(20).node(op, &["conv"], &["y"], vec![]).output("y");
        check(&model, &["spacemit.Conv"], "conv", &inputs(), TOLERANCE);
    }
    let mut model = start();
    model.constant("low", &[], &[0f32]).constant("high", &[], &[6f32]);
    model.version(13).node("Clip", &["conv", "low", "high"], &["y"], vec![]).output("y");
    check(&model, &["spacemit.Conv"], "conv", &inputs(), TOLERANCE);
}

#[test]
fn a_residual_goes_before_or_after_the_activation() {
    let mut model = start();
    model
        .version(14)
        .node("Add", &["skip", "conv"], &["sum"], vec![])
        .node("Relu", &["sum"], &["y"], vec![])
        .output("y");
    check(&model, &["spacemit.Conv"], "conv", &inputs(), TOLERANCE);
    let mut model = start();
    model.typed("active", DType::F32, Y.map(Dim::Known).to_vec());
    model.version(14).node("Relu", &["conv"], &["active"], vec![]).node("Add", &["active", "skip"], &["y"], vec![]);
    check(model.output("y"), &["spacemit.Conv"], "active", &inputs(), TOLERANCE);
}

#[test]
fn what_broadcasts_or_has_an_unknown_shape_stays_apart() {
    let mut model = start();
    model.input::<f32>("row", &[1, 4, 1, 5]).version(14).node("Add", &["conv", "row"], &["y"], vec![]).output("y");
    assert_eq!(fused(&model), ["Conv", "Add"]);
    let mut model = start();
    model.input_of("other", DType::F32, vec![Dim::Unknown; 4]);
    model.version(14).node("Add", &["conv", "other"], &["y"], vec![]).output("y");
    assert_eq!(fused(&model), ["Conv", "Add"]);
}

#[test]
fn a_second_activation_stays_apart() {
    let mut model = start();
    model.version(14).node("Relu", &["conv"], &["a"], vec![]).node("Tanh", &["a"], &["y"], vec![]).output("y");
    assert_eq!(fused(&model), ["spacemit.Conv", "Tanh"]);
}
