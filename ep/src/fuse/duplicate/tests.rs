use kernels::tensor::DType;

use crate::fuse::tests::{assert_close, fused, noise};
use crate::ir::{Attr, Dim};
use crate::testing::{Model, Value};

const DIMS: [usize; 2] = [3, 8];

/// T5's first norm, behind an embedding whose values are dequantised for each reader: from `scales[0]` for the square, from
/// `scales[1]` for the rest.
fn model(scales: [&str; 2]) -> Model {
    let mut model = Model::new();
    model.input::<u8>("q", &DIMS).constant("scale", &[], &[0.02f32]).constant("other", &[], &[0.03f32]);
    model.constant("zero", &[], &[128u8]).constant("gamma", &[8], &noise(1, &[8]));
    model.constant("two", &[], &[2f32]).constant("one", &[], &[1f32]).constant("epsilon", &[], &[1e-6f32]);
    for (name, scale) in [("a", scales[0]), ("b", scales[1]), ("c", scales[1])] {
        model.typed(name, DType::F32, DIMS.map(Dim::Known).to_vec());
        model.node("DequantizeLinear", &["q", scale, "zero"], &[name], vec![("axis", Attr::Int(1))]);
    }
    model.node("Pow", &["a", "two"], &["square"], vec![]).version(13);
    model.node("ReduceMean", &["square"], &["mean"], vec![("axes", Attr::Ints(vec![-1])), ("keepdims", Attr::Int(1))]);
    model.version(21).node("Add", &["mean", "epsilon"], &["variance"], vec![]).node(
        "Sqrt",
        &["variance"],
        &["root"],
        vec![],
    );
    model.node("Div", &["one", "root"], &["factor"], vec![]).node("Mul", &["b", "factor"], &["normed"], vec![]);
    model.node("Mul", &["gamma", "normed"], &["norm"], vec![]).node("Add", &["c", "norm"], &["y"], vec![]).output("y");
    model
}

#[test]
fn readers_share_one_and_the_norm_is_seen() {
    let shared = model(["scale", "scale"]);
    assert_eq!(fused(&shared), ["DequantizeLinear", "SimplifiedLayerNormalization", "Add"]);
    let q: Vec<u8> = (0..24).map(|at| (at * 37 % 256) as u8).collect();
    let y = shared.run(&[Value::new(&DIMS, &q)]).unwrap().remove(0);
    let (gamma, mut want) = (noise(1, &[8]), Vec::new());
    for row in q.chunks_exact(8) {
        let x: Vec<f64> = row.iter().map(|&q| f64::from(0.02f32) * (f64::from(q) - 128.0)).collect();
        let root = (x.iter().map(|x| x * x).sum::<f64>() / 8.0 + 1e-6).sqrt();
        want.extend(x.iter().zip(&gamma).map(|(x, gamma)| (x + x / root * f64::from(*gamma)) as f32));
    }
    assert_close(y.values(), &want, 1e-5);
}

#[test]
fn near_misses_stay() {
    let count = |model: &Model| fused(model).iter().filter(|op| *op == "DequantizeLinear").count();
    assert_eq!(count(&model(["scale", "other"])), 2, "other scales");
    let mut constant = Model::new();
    constant.constant("q", &[2, 2], &[1u8, 2, 3, 4]).constant("scale", &[], &[0.5f32]).input::<f32>("x", &[1, 2]);
    for (weight, y) in [("a", "y"), ("b", "z")] {
        constant.typed(weight, DType::F32, vec![Dim::Known(2); 2]).typed(
            y,
            DType::F32,
            vec![Dim::Known(1), Dim::Known(2)],
        );
        constant.node("DequantizeLinear", &["q", "scale"], &[weight], vec![]);
        constant.node("MatMul", &["x", weight], &[y], vec![]).output(y);
    }
    assert_ne!(count(&constant), 1, "products take their own");
    let mut seen = model(["scale", "scale"]);
    assert_eq!(count(seen.output("a").output("b").output("c")), 3, "results that somebody else reads keep their names");
}
