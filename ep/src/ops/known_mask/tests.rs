use super::*;
use crate::fuse::tests::{assert_close, noise};
use crate::ir::{Attr, Dim, Tensor};
use crate::testing::{Model, Value};

mod in_part;

const DIMS: AttentionDims =
    AttentionDims { batch: 2, heads: 1, kv_heads: 1, queries: 3, keys: 5, head: 1, value_head: 1 };

/// The mask `[batch, 1, queries, keys]` of these terms.
fn of(hidden: f32, term: impl Fn(usize, usize, usize) -> f32) -> KnownMask {
    KnownMask::of(&[2, 1, 3, 5], &DIMS, hidden, |at| term(at / 15, at / 5 % 3, at % 5))
}

fn triangle(offset: usize, low: f32) -> impl Fn(usize, usize, usize) -> f32 {
    move |_, s, t| if t > s + offset { low } else { 0.0 }
}

#[test]
fn triangles_are_causal() {
    for low in [f32::NEG_INFINITY, f32::MIN, -1e9] {
        for offset in [0, 1, 2, 3] {
            let want = KnownMask { causal: Some(offset as isize), nothing_else: true };
            assert_eq!(of(HIDDEN, triangle(offset, low)), want, "{low} {offset}");
        }
        let biased = move |b, s, t| if t > s { low } else { (b + s + t) as f32 };
        assert_eq!(of(HIDDEN, biased), KnownMask { causal: Some(0), nothing_else: false });
    }
    assert_eq!(of(HIDDEN, triangle(4, f32::MIN)), KnownMask { causal: None, nothing_else: true });
}

#[test]
fn near_misses_are_not() {
    let other = KnownMask { causal: None, nothing_else: false };
    assert_eq!(of(HIDDEN, triangle(1, -10000.0)), other, "scores may be as large");
    assert_eq!(of(f32::NEG_INFINITY, triangle(1, f32::MIN)), other, "finite, and not alone");
    assert_eq!(of(HIDDEN, triangle(1, f32::NAN)), other);
    let one_more = |b, s, t| if t > s && (b, s, t) != (1, 2, 4) { f32::MIN } else { 0.0 };
    assert_eq!(of(HIDDEN, one_more), other, "a key behind");
    let none = |b, s, t| if t > s || (b, s) == (1, 1) { f32::MIN } else { 0.0 };
    assert_eq!(of(HIDDEN, none), other, "a row that sees nothing is uniform over all keys");
    let row = KnownMask::of(&[1, 5], &DIMS, HIDDEN, |at| if at > 1 { f32::MIN } else { 0.0 });
    assert_eq!(row, other, "the same for all queries");
    assert!(KnownMask::of(&[1, 5], &DIMS, HIDDEN, |_| 0.0).nothing_else);
}
/// Attention `[1, 1, s, 1]` to `[1, 1, t, 1]` with a mask that `make` computes from their shapes, as `mask`.
fn attention(make: impl Fn(&mut Model)) -> Model {
    let mut model = Model::new();
    for (name, length) in [("q", "s"), ("k", "t"), ("v", "t")] {
        let shape = [Dim::Known(1), Dim::Known(1), Dim::Symbol(length.into()), Dim::Known(1)];
        model.input_of(name, DType::F32, shape.to_vec());
    }
    model.constant("zero", &[], &[0f32]).constant("low", &[], &[f32::MIN]);
    lengths(&mut model, 2);
    make(&mut model);
    let bnsh = ["q_order", "k_order", "v_order", "out_order"].map(|name| (name, Attr::Str("bnsh".into())));
    model.domain("spacemit").version(1).node("Sdpa", &["q", "k", "v", "mask"], &["y"], bnsh.to_vec());
    model.output("y").output("mask");
    model
}

/// The scalars `queries` and `keys` from dimension `axis` of `q` and `k`, and constants for arithmetic with them.
fn lengths(model: &mut Model, axis: usize) {
    model.constant("axis", &[], &[axis as i64]).constant("first", &[1], &[0i64]);
    model.constant("origin", &[], &[0i64]).constant("one", &[], &[1i64]);
    for (tensor, length) in [("q", "queries"), ("k", "keys")] {
        let shape = format!("{tensor}_shape");
        model.typed(&shape, DType::I64, vec![Dim::Unknown]).node("Shape", &[tensor], &[&shape], vec![]);
        model.node("Gather", &[&shape, "axis"], &[length], vec![]);
    }
}

/// `seen = key <= query + past`, bool `[queries, keys]`.
fn seen(model: &mut Model) {
    model.node("Sub", &["keys", "queries"], &["past"], vec![]);
    model.node("Range", &["past", "keys", "one"], &["query"], vec![]);
    model.node("Range", &["origin", "keys", "one"], &["key"], vec![]);
    model.node("Unsqueeze", &["query", "one"], &["rows"], vec![]);
    model.typed("seen", DType::Bool, vec![Dim::Unknown; 2]);
    model.node("LessOrEqual", &["key", "rows"], &["seen"], vec![]);
}

/// `mask = Where(seen, 0, low)`, the form of torch's newer exporter.
fn by_comparison(model: &mut Model) {
    seen(model);
    model.node("Where", &["seen", "zero", "low"], &["mask"], vec![]);
}

/// `mask = Trilu(filled with low, 1 + past)`, the form of transformers' older masks.
fn by_triangle(model: &mut Model) {
    let low = Attr::Tensor(Tensor::owned(&[1], &[f32::MIN]));
    model.node("Sub", &["keys", "queries"], &["past"], vec![]).node("Add", &["past", "one"], &["behind"], vec![]);
    for length in ["queries", "keys"] {
        model.node("Unsqueeze", &[length, "first"], &[&format!("{length}_axis")], vec![]);
    }
    model.node("Concat", &["queries_axis", "keys_axis"], &["square"], vec![("axis", Attr::Int(0))]);
    model.typed("filled", DType::F32, vec![Dim::Unknown; 2]);
    model.node("ConstantOfShape", &["square"], &["filled"], vec![("value", low)]);
    model.node("Trilu", &["filled", "behind"], &["mask"], vec![("upper", Attr::Int(1))]);
}

fn inputs(queries: usize, keys: usize) -> Vec<Value> {
    [queries, keys, keys].iter().zip(1..).map(|(&s, seed)| Value::new(&[1, 1, s, 1], &noise(seed, &[s]))).collect()
}

#[test]
fn masks_that_exporters_compute_from_shapes_are_causal() {
    for make in [by_comparison, by_triangle] {
        let model = attention(make);
        for (queries, keys) in [(1, 1), (4, 4), (3, 7), (1, 6), (600, 600)] {
            let inputs = inputs(queries, keys);
            let steps = model.steps(&inputs);
            assert_eq!(steps.contains(" causal"), queries > 1, "{steps}");
            let sdpa = steps.lines().find(|line| line.contains("Sdpa:")).unwrap();
            assert!(sdpa.contains("| in0 in1 in2 ->"), "the mask is no operand: {sdpa}");
            let y = &model.run(&inputs).unwrap()[0];
            let [q, k, v] = [0, 1, 2].map(|at: usize| inputs[at].values::<f32>());
            let row = |s: usize| {
                let seen = ..s + keys - queries + 1;
                let weights: Vec<f64> = k[seen].iter().map(|k| f64::from(q[s] * k).exp()).collect();
                let sum: f64 = weights.iter().zip(&v[seen]).map(|(w, v)| w * f64::from(*v)).sum();
                (sum / weights.iter().sum::<f64>()) as f32
            };
            assert_close(y.values(), &(0..queries).map(row).collect::<Vec<_>>(), 1e-5);
        }
    }
}

/// The same with padding: where the first keys are hidden too, the first queries see nothing, and the finite mask gives
/// them the mean of all.
#[test]
fn a_finite_mask_beside_another_stays() {
    let mut model = attention(by_comparison);
    model.version(21).domain("").input::<f32>("padding", &[1, 1, 1, 4]);
    let bnsh = ["q_order", "k_order", "v_order", "out_order"].map(|name| (name, Attr::Str("bnsh".into())));
    model.domain("spacemit").version(1);
    model.node("Sdpa", &["q", "k", "v", "mask", "padding"], &["padded"], bnsh.to_vec()).output("padded");
    let mut inputs = inputs(4, 4);
    inputs.push(Value::new(&[1, 1, 1, 4], &[f32::MIN, f32::MIN, f32::MIN, 0.0]));
    assert!(!model.steps(&inputs).lines().any(|line| line.contains(" causal") && line.contains("in3")));
    let v = inputs[2].values::<f32>();
    // Keys that only one of the masks hides are as hidden as those that query 0 would see: -f32::MAX each.
    let padded = model.run(&inputs).unwrap().remove(2);
    let all = (v[0] + v[3]) / 2.0;
    assert!((padded.values::<f32>()[0] - all).abs() < 1e-6, "{} is not {all}", padded.values::<f32>()[0]);
}
