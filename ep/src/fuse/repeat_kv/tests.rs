use crate::fuse::tests::{check, fused, noise};
use crate::ir::{Attr, Dim};
use crate::testing::{Model, Value};
use kernels::tensor::DType;

const Q: [usize; 4] = [2, 6, 3, 4];
const KV: [usize; 4] = [2, 2, 5, 4];

/// The form of transformers' `repeat_kv` before attention; the shapes are computed from `of`.
fn model(axis: i64, heads: i64, of: &str) -> Model {
    let mut model = Model::new();
    let symbolic = |name: &str| vec![Dim::Symbol("b".into()), Dim::Known(2), Dim::Symbol(name.into()), Dim::Known(4)];
    model.input::<f32>("q", &Q);
    model.input_of("k", DType::F32, symbolic("s")).input_of("v", DType::F32, symbolic("s"));
    for (name, value) in [("zero", 0), ("two", 2), ("axis", axis), ("three", 3), ("four", 4), ("heads", heads)] {
        model.constant(name, &[1], &[value]);
    }
    let along = |axis| vec![("axis", Attr::Int(axis))];
    for name in ["k", "v"] {
        let at = |part: &str| format!("{name}_{part}");
        let of = if of.is_empty() { name } else { of };
        model.typed(&at("shape"), DType::I64, vec![Dim::Known(4)]).node("Shape", &[of], &[&at("shape")], vec![]);
        model.node("Gather", &[&at("shape"), "zero"], &[&at("batch")], along(0));
        model.node("Gather", &[&at("shape"), "two"], &[&at("length")], along(0));
        let expanded = [&at("batch"), "two", "three", &at("length"), "four"];
        model.node("Concat", &expanded, &[&at("expanded")], along(0));
        let merged = [&at("batch"), "heads", &at("length"), "four"];
        model.node("Concat", &merged, &[&at("merged")], along(0));
        model.node("Unsqueeze", &[name, "axis"], &[&at("apart")], vec![]);
        model.node("Expand", &[&at("apart"), &at("expanded")], &[&at("repeated")], vec![]);
        model.node("Reshape", &[&at("repeated"), &at("merged")], &[&at("heads")], vec![]);
    }
    model.node("Transpose", &["k_heads"], &["keys"], vec![("perm", Attr::Ints(vec![0, 1, 3, 2]))]);
    model.typed("v_heads", DType::F32, [2, 6, 5, 4].map(Dim::Known).to_vec());
    model.node("MatMul", &["q", "keys"], &["scores"], vec![]);
    model.node("Softmax", &["scores"], &["weights"], vec![("axis", Attr::Int(-1))]);
    model.node("MatMul", &["weights", "v_heads"], &["y"], vec![]).output("y");
    model
}

#[test]
fn attention_reads_the_heads_that_are_there() {
    let inputs = [(1, Q), (2, KV), (3, KV)].map(|(seed, dims)| Value::new(&dims, &noise(seed, &dims)));
    check(&model(2, 6, ""), &["spacemit.Sdpa"], "k_repeated", &inputs, 1e-5);
}

#[test]
fn near_misses_stay() {
    let keeps = |model: &Model| fused(model).contains(&"Expand".to_owned());
    assert!(keeps(&model(1, 6, "")), "heads repeated as a whole, not each");
    assert!(keeps(&model(2, 6, "q")), "lengths of another tensor");
    assert!(keeps(&model(2, 3, "")), "not all heads merged");
}
