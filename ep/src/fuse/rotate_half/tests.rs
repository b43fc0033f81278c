use crate::fuse::tests::{check, fused, noise};
use crate::ir::Attr;
use crate::testing::{Model, Value};

const X: [usize; 4] = [2, 3, 5, 8];
const ANGLES: [usize; 4] = [2, 1, 5, 8];

/// The form of transformers' `apply_rotary_pos_emb`, whose halves end at `end` and are swapped or not.
fn model(middle: i64, end: i64, swapped: bool) -> Model {
    let mut model = Model::new();
    model.input::<f32>("x", &X).input::<f32>("cos", &ANGLES).input::<f32>("sin", &ANGLES);
    for (name, value) in [("zero", 0), ("middle", middle), ("end", end), ("axis", 3), ("one", 1)] {
        model.constant(name, &[1], &[value]);
    }
    model.node("Slice", &["x", "zero", "middle", "axis", "one"], &["first"], vec![]);
    model.node("Slice", &["x", "middle", "end", "axis", "one"], &["second"], vec![]);
    model.node("Neg", &["second"], &["negated"], vec![]);
    let halves = if swapped { ["negated", "first"] } else { ["first", "negated"] };
    model.node("Concat", &halves, &["halves"], vec![("axis", Attr::Int(-1))]);
    model.node("Mul", &["x", "cos"], &["straight"], vec![]);
    model.node("Mul", &["halves", "sin"], &["turned"], vec![]);
    model.node("Add", &["straight", "turned"], &["y"], vec![]).output("y");
    model
}

#[test]
fn the_form_of_transformers_is_one_operator() {
    let inputs = [(1, X), (2, ANGLES), (3, ANGLES)].map(|(seed, dims)| Value::new(&dims, &noise(seed, &dims)));
    for end in [8, i64::MAX] {
        check(&model(4, end, true), &["spacemit.RotateHalf"], "halves", &inputs, 1e-6);
    }
}

#[test]
fn near_misses_stay() {
    let keeps = |model: &Model| fused(model).contains(&"Concat".to_owned());
    assert!(keeps(&model(4, 8, false)), "halves in their order");
    assert!(keeps(&model(2, 8, true)), "parts of different lengths");
    let mut other = Model::new();
    other.input::<f32>("x", &X).input::<f32>("z", &X).input::<f32>("cos", &ANGLES).input::<f32>("sin", &ANGLES);
    for (name, value) in [("zero", 0i64), ("middle", 4), ("end", 8), ("axis", 3)] {
        other.constant(name, &[1], &[value]);
    }
    other.node("Slice", &["x", "zero", "middle", "axis"], &["first"], vec![]);
    other.node("Slice", &["z", "middle", "end", "axis"], &["second"], vec![]);
    other.node("Neg", &["second"], &["negated"], vec![]);
    other.node("Concat", &["negated", "first"], &["halves"], vec![("axis", Attr::Int(3))]);
    other.node("Mul", &["x", "cos"], &["straight"], vec![]);
    other.node("Mul", &["halves", "sin"], &["turned"], vec![]);
    other.node("Add", &["straight", "turned"], &["y"], vec![]).output("y");
    assert!(keeps(&other), "halves of two tensors");
}
