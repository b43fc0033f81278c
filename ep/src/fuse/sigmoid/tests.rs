use crate::fuse::tests::{check, fused, noise};
use crate::testing::{Model, Value};

const SHAPE: [usize; 2] = [4, 19];

fn silu() -> Model {
    let mut model = Model::new();
    model.input::<f32>("x", &SHAPE).node("Sigmoid", &["x"], &["gate"], vec![]);
    model.node("Mul", &["gate", "x"], &["y"], vec![]).output("y");
    model
}

fn quick_gelu(of: &str) -> Model {
    let mut model = Model::new();
    model.input::<f32>("x", &SHAPE).input::<f32>("other", &SHAPE).constant("alpha", &[], &[1.702f32]);
    model.node("Mul", &[of, "alpha"], &["scaled"], vec![]).node("Sigmoid", &["scaled"], &["gate"], vec![]);
    model.node("Mul", &["x", "gate"], &["y"], vec![]).output("y");
    model
}

#[test]
fn a_value_times_its_sigmoid_is_one_operator() {
    let value = |seed| Value::new(&SHAPE, &noise(seed, &SHAPE));
    check(&silu(), &["com.microsoft.QuickGelu"], "gate", &[value(1)], 1e-6);
    check(&quick_gelu("x"), &["com.microsoft.QuickGelu"], "scaled", &[value(1), value(2)], 1e-6);
}

#[test]
fn the_sigmoid_of_another_value_stays() {
    assert_eq!(fused(&quick_gelu("other")), ["Mul", "Sigmoid", "Mul"]);
}
