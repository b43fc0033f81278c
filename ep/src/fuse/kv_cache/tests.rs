use half::f16;
use kernels::tensor::DType;

use crate::fuse::tests::{assert_close, check, fused, noise};
use crate::ir::{Attr, Dim};
use crate::testing::{Model, Value};

const B: usize = 2;
const H: usize = 2;
const PAST: usize = 3;
const NEW: usize = 2;
const D: usize = 4;

fn model(axis: i64, batch: &str, attention: fn(&mut Model)) -> Model {
    model_of(DType::F32, axis, batch, attention)
}

/// An exporter's decoder layer that appends to caches; queries, and new keys and values `[b, s, h, d]`.
fn model_of(dtype: DType, axis: i64, batch: &str, attention: fn(&mut Model)) -> Model {
    let mut model = Model::new();
    let dims = |batch: &str, rest: [usize; 3]| {
        let known = if batch.is_empty() { Dim::Known(B) } else { Dim::Symbol(batch.into()) };
        [known].into_iter().chain(rest.map(Dim::Known)).collect::<Vec<_>>()
    };
    for name in ["q", "k", "v"] {
        model.input_of(name, dtype, dims("b", [NEW, H, D]));
    }
    model.input_of("past_k", dtype, dims("b", [H, PAST, D])).input_of("past_v", dtype, dims(batch, [H, PAST, D]));
    for (from, to) in [("q", "queries"), ("k", "keys"), ("v", "values")] {
        model.typed(to, dtype, dims("b", [H, NEW, D]));
        model.node("Transpose", &[from], &[to], vec![("perm", Attr::Ints(vec![0, 2, 1, 3]))]);
    }
    for (past, new, present) in [("past_k", "keys", "present_k"), ("past_v", "values", "present_v")] {
        model.typed(present, dtype, vec![Dim::Symbol("b".into()), Dim::Known(H), Dim::Unknown, Dim::Known(D)]);
        model.node("Concat", &[past, new], &[present], vec![("axis", Attr::Int(axis))]);
    }
    attention(&mut model);
    model.output("y").output("present_k").output("present_v");
    model
}

fn decomposed(model: &mut Model) {
    model.node("Transpose", &["present_k"], &["columns"], vec![("perm", Attr::Ints(vec![0, 1, 3, 2]))]);
    model.node("MatMul", &["queries", "columns"], &["scores"], vec![]);
    model.node("Softmax", &["scores"], &["weights"], vec![("axis", Attr::Int(-1))]);
    model.node("MatMul", &["weights", "present_v"], &["y"], vec![]);
}

fn operator(model: &mut Model) {
    model.version(23).node("Attention", &["queries", "present_k", "present_v"], &["y"], vec![]).version(21);
}

fn causal_operator(model: &mut Model) {
    let causal = vec![("is_causal", Attr::Int(1))];
    model.version(23).node("Attention", &["queries", "present_k", "present_v"], &["y"], causal).version(21);
}

fn inputs() -> Vec<Value> {
    let new = [B, NEW, H, D];
    let past = [B, H, PAST, D];
    [new, new, new, past, past].iter().zip(1..).map(|(dims, seed)| Value::new(dims, &noise(seed, dims))).collect()
}

#[test]
fn the_cache_is_appended_to() {
    for axis in [2, -2] {
        check(&model(axis, "b", decomposed), &["spacemit.Sdpa"], "weights", &inputs(), 1e-5);
    }
    let with_operator = model(2, "b", operator);
    assert_eq!(fused(&with_operator), ["Transpose", "Transpose", "Transpose", "Attention"]);
    let apart = model(2, "", operator);
    assert_eq!(fused(&apart).len(), 6);
    for (got, want) in with_operator.run(&inputs()).unwrap().iter().zip(apart.run(&inputs()).unwrap()) {
        assert_close(got.values(), want.values(), 1e-5);
    }
}

#[test]
fn an_empty_cache_is_appended_to() {
    let mut inputs = inputs();
    inputs[3..].fill(Value::new::<f32>(&[B, H, 0, D], &[]));
    let outputs = model(2, "b", decomposed).run(&inputs).unwrap();
    let k = inputs[1].values::<f32>();
    let by_head = |at: usize| k[((at / D / NEW / H * NEW + at / D % NEW) * H + at / D / NEW % H) * D + at % D];
    assert_eq!(outputs[1].values::<f32>(), (0..B * H * NEW * D).map(by_head).collect::<Vec<_>>());
    assert_eq!(outputs[2].dims[..], [B, H, NEW, D]);
}

#[test]
fn caches_of_halves_keep_their_bits_and_the_result_is_rounded_once() {
    let halves = |value: &Value| -> Vec<f16> { value.values::<f32>().iter().map(|&x| f16::from_f32(x)).collect() };
    let narrow: Vec<Value> = inputs().iter().map(|value| Value::new(&value.dims, &halves(value))).collect();
    let floats = |value: &Value| -> Vec<f32> { value.values::<f16>().iter().map(|x| x.to_f32()).collect() };
    let wide: Vec<Value> = narrow.iter().map(|value| Value::new(&value.dims, &floats(value))).collect();
    for attention in [decomposed, operator] {
        let model_16 = model_of(DType::F16, 2, "b", attention);
        assert!(!fused(&model_16).contains(&"Concat".to_owned()));
        let (got, want) = (model_16.run(&narrow).unwrap(), model(2, "b", attention).run(&wide).unwrap());
        // half a unit of 11 bits, and what the sums in f32 differ by
        assert_close(&floats(&got[0]), want[0].values(), 1.01 / 2048.0);
        for (got, want) in got[1..].iter().zip(&want[1..]) {
            assert_eq!(floats(got), want.values::<f32>());
        }
    }
}

#[test]
fn near_misses_stay() {
    let keeps = |model: &Model| fused(model).contains(&"Concat".to_owned());
    assert!(!keeps(&model(2, "b", decomposed)));
    assert!(keeps(&model(2, "", decomposed)), "one batch may be broadcast");
    assert!(keeps(&model(2, "b", causal_operator)), "positions would count from the past");
    let mut measured = model(2, "b", decomposed);
    measured.typed("shape", DType::I64, vec![Dim::Known(4)]).node("Shape", &["present_k"], &["shape"], vec![]);
    assert!(keeps(measured.output("shape")), "the length may be what a mask is made of");
    assert!(keeps(&model(1, "b", decomposed)), "heads, not positions");
}
