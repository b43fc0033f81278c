use half::f16;
use kernels::tensor::DType;

use crate::fuse::tests::{assert_close, check, fused, noise};
use crate::ir::Attr;
use crate::testing::{Model, Value};

const SHAPE: [usize; 3] = [2, 3, 17];
const WIDTH: usize = SHAPE[2];

/// Sums of 17 terms below 4, rounded.
const TOLERANCE: f32 = 1e-5;

fn mean(model: &mut Model, input: &str, output: &str) {
    model.version(13);
    model.node("ReduceMean", &[input], &[output], vec![("axes", Attr::Ints(vec![-1])), ("keepdims", Attr::Int(1))]);
}

fn start() -> Model {
    let mut model = Model::new();
    model.input::<f32>("x", &SHAPE);
    model.constant("gamma", &[WIDTH], &noise(2, &[WIDTH])).constant("beta", &[WIDTH], &noise(3, &[WIDTH]));
    model.constant("two", &[], &[2f32]).constant("one", &[], &[1f32]).constant("epsilon", &[], &[1e-3f32]);
    model
}

/// `normed = value / sqrt(mean(value^2) + epsilon)`
fn normalise(model: &mut Model, value: &str) {
    model.node("Pow", &[value, "two"], &["square"], vec![]);
    mean(model, "square", "mean_square");
    model.node("Add", &["mean_square", "epsilon"], &["variance"], vec![]);
    model.node("Sqrt", &["variance"], &["root"], vec![]).node("Div", &[value, "root"], &["normed"], vec![]);
}

fn layer_norm() -> Model {
    let mut model = start();
    mean(&mut model, "x", "mean");
    model.node("Sub", &["x", "mean"], &["deviation"], vec![]);
    normalise(&mut model, "deviation");
    model.node("Mul", &["normed", "gamma"], &["scaled"], vec![]);
    model.node("Add", &["scaled", "beta"], &["y"], vec![]).output("y");
    model
}

fn rms_norm() -> Model {
    let mut model = start();
    normalise(&mut model, "x");
    model.node("Mul", &["gamma", "normed"], &["y"], vec![]).output("y");
    model
}

fn input() -> Value {
    Value::new(&SHAPE, &noise(1, &SHAPE))
}

#[test]
fn layer_norm_is_one_operator() {
    check(&layer_norm(), &["LayerNormalization"], "deviation", &[input()], TOLERANCE);
}

#[test]
fn layer_norm_is_what_the_formula_says() {
    let (gamma, beta, x) = (noise(2, &[WIDTH]), noise(3, &[WIDTH]), input());
    let mut expected = Vec::new();
    for row in x.values::<f32>().chunks(WIDTH) {
        let mean = row.iter().map(|&x| f64::from(x)).sum::<f64>() / WIDTH as f64;
        let variance = row.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / WIDTH as f64;
        let normed = row.iter().map(|&x| (f64::from(x) - mean) / (variance + 1e-3).sqrt());
        let scaled = normed.zip(gamma.iter().zip(&beta));
        expected.extend(scaled.map(|(x, (&gamma, &beta))| (x * f64::from(gamma) + f64::from(beta)) as f32));
    }
    assert_close(layer_norm().run(&[x]).unwrap()[0].values(), &expected, TOLERANCE);
}

#[test]
fn rms_norm_forms_are_one_operator() {
    check(&rms_norm(), &["SimplifiedLayerNormalization"], "square", &[input()], TOLERANCE);
    for reciprocal in [true, false] {
        let mut model = start();
        model.node("Mul", &["x", "x"], &["square"], vec![]);
        mean(&mut model, "square", "mean_square");
        model.node("Add", &["epsilon", "mean_square"], &["variance"], vec![]);
        model.node("Sqrt", &["variance"], &["root"], vec![]);
        match reciprocal {
            true => model.node("Reciprocal", &["root"], &["inverse"], vec![]),
            false => model.node("Div", &["one", "root"], &["inverse"], vec![]),
        };
        model.node("Mul", &["inverse", "x"], &["normed"], vec![]);
        model.node("Mul", &["normed", "gamma"], &["y"], vec![]).output("y");
        check(&model, &["SimplifiedLayerNormalization"], "inverse", &[input()], TOLERANCE);
    }
}

#[test]
fn rms_norm_of_f16_with_casts_is_one_operator() {
    let mut model = Model::new();
    let halves = |seed, dims: &[usize]| -> Vec<f16> { noise(seed, dims).into_iter().map(f16::from_f32).collect() };
    model.input::<f16>("x", &SHAPE).constant("gamma", &[WIDTH], &halves(2, &[WIDTH]));
    model.constant("two", &[], &[2f32]).constant("epsilon", &[], &[1e-3f32]);
    model.typed("wide", DType::F32, SHAPE.map(crate::ir::Dim::Known).to_vec());
    model.typed("narrow", DType::F16, SHAPE.map(crate::ir::Dim::Known).to_vec());
    model.node("Cast", &["x"], &["wide"], vec![("to", Attr::Int(1))]);
    normalise(&mut model, "wide");
    model.node("Cast", &["normed"], &["narrow"], vec![("to", Attr::Int(10))]);
    model.node("Mul", &["gamma", "narrow"], &["y"], vec![]);
    model.typed("y", DType::F16, SHAPE.map(crate::ir::Dim::Known).to_vec()).output("y");
    assert_eq!(fused(&model), ["SimplifiedLayerNormalization"]);
}

#[test]
fn near_misses_stay() {
    let mut other_base = start();
    other_base.input::<f32>("z", &SHAPE);
    normalise(&mut other_base, "x");
    other_base.node("Div", &["z", "root"], &["other"], vec![]);
    other_base.node("Mul", &["other", "gamma"], &["y"], vec![]).output("y");
    assert!(fused(&other_base).contains(&"Sqrt".to_owned()));

    let mut first_axis = start();
    first_axis.node("Mul", &["x", "x"], &["square"], vec![]).version(13);
    let axes = vec![("axes", Attr::Ints(vec![1])), ("keepdims", Attr::Int(1))];
    first_axis.node("ReduceMean", &["square"], &["mean_square"], axes);
    first_axis.node("Add", &["mean_square", "epsilon"], &["variance"], vec![]);
    first_axis.node("Sqrt", &["variance"], &["root"], vec![]).node("Div", &["x", "root"], &["normed"], vec![]);
    first_axis.node("Mul", &["normed", "gamma"], &["y"], vec![]).output("y");
    assert_eq!(fused(&first_axis).len(), 6);

    let mut short = start();
    short.constant("short", &[1], &[3f32]);
    normalise(&mut short, "x");
    short.node("Mul", &["normed", "short"], &["y"], vec![]).output("y");
    assert_eq!(fused(&short).len(), 6);
}
