use crate::fuse::tests::{assert_close, fused, noise};
use crate::ir::{Attr, Dim};
use crate::testing::{Model, Value};

const WIDTH: usize = 9;
const SHAPE: [usize; 3] = [2, 3, WIDTH];

/// Sums of 9 terms below 4, rounded.
const TOLERANCE: f32 = 1e-5;

const NORMS: [(&str, i32, &str); 3] = [
    ("LayerNormalization", 17, "com.microsoft.SkipLayerNormalization"),
    ("SimplifiedLayerNormalization", 1, "com.microsoft.SkipSimplifiedLayerNormalization"),
    ("RMSNormalization", 23, "com.microsoft.SkipSimplifiedLayerNormalization"),
];

fn add(skip: &[usize]) -> Model {
    let mut model = Model::new();
    model.input::<f32>("x", &SHAPE).input::<f32>("skip", skip);
    model.node("Add", &["skip", "x"], &["sum"], vec![]);
    model
}

fn norm(model: &mut Model, (op, version, _): (&str, i32, &str)) {
    model.constant("gamma", &[WIDTH], &noise(2, &[WIDTH])).constant("beta", &[WIDTH], &noise(3, &[WIDTH]));
    let inputs = if op == "LayerNormalization" { &["sum", "gamma", "beta"][..] } else { &["sum", "gamma"] };
    model.version(version).node(op, inputs, &["y"], vec![("epsilon", Attr::Float(0.1))]).output("y");
}

#[test]
fn the_norm_of_a_sum_is_one_operator() {
    for (row, skip) in NORMS.iter().flat_map(|row| [&SHAPE[..], &[1, 3, WIDTH], &[WIDTH]].map(|skip| (*row, skip))) {
        let inputs = [Value::new(&SHAPE, &noise(1, &SHAPE)), Value::new(skip, &noise(4, skip))];
        let mut sum = add(skip);
        let sum = sum.output("sum").run(&inputs).unwrap().remove(0);
        let mut alone = Model::new();
        norm(alone.input::<f32>("sum", &SHAPE), row);
        let expected = alone.run(std::slice::from_ref(&sum)).unwrap().remove(0);

        let mut model = add(skip);
        norm(&mut model, row);
        assert_eq!(fused(&model), [row.2]);
        assert_close(model.run(&inputs).unwrap()[0].values(), expected.values(), TOLERANCE);
        // The sum may have other readers: then it is a second result.
        model.output("sum");
        assert_eq!(fused(&model), [row.2]);
        let results = model.run(&inputs).unwrap();
        assert_close(results[0].values(), expected.values(), TOLERANCE);
        assert_close(results[1].values(), sum.values(), f32::EPSILON);
    }
}

#[test]
fn near_misses_stay() {
    let mut taller = add(&[4, 2, 3, WIDTH]);
    norm(&mut taller, NORMS[0]);
    assert_eq!(fused(&taller), ["com.microsoft.SkipLayerNormalization"], "the longer term is the input");

    let mut unknown = Model::new();
    let shape = |name: &str| vec![Dim::Symbol(name.into()), Dim::Unknown, Dim::Known(WIDTH)];
    unknown.input_of("x", kernels::tensor::DType::F32, shape("a")).input_of(
        "z",
        kernels::tensor::DType::F32,
        shape("b"),
    );
    unknown.node("Add", &["x", "z"], &["sum"], vec![]);
    norm(&mut unknown, NORMS[0]);
    assert_eq!(fused(&unknown), ["Add", "LayerNormalization"]);

    let mut rows = add(&SHAPE);
    rows.constant("gamma", &[3, WIDTH], &noise(2, &[3, WIDTH])).version(17);
    let attrs = vec![("axis", Attr::Int(-2))];
    rows.node("LayerNormalization", &["sum", "gamma"], &["y"], attrs).output("y");
    assert_eq!(fused(&rows), ["Add", "LayerNormalization"]);
}
