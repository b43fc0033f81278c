use crate::fuse::tests::{assert_close, check, fused, noise};
use crate::testing::{Model, Value};

const SHAPE: [usize; 2] = [3, 35];

/// A few roundings of values below 2.
const TOLERANCE: f32 = 1e-6;

/// A model of nodes over the input `x`; names that are numbers are constants.
fn model(nodes: &[(&str, [&str; 2], &str)]) -> Model {
    let mut model = Model::new();
    model.input::<f32>("x", &SHAPE);
    for (op, inputs, output) in nodes {
        let inputs: Vec<&str> = inputs.iter().copied().filter(|name| !name.is_empty()).collect();
        for name in &inputs {
            if let Ok(number) = name.parse::<f32>() {
                model.constant(name, &[], &[number]);
            }
        }
        model.node(op, &inputs, &[output], vec![]);
    }
    model.output("y");
    model
}

fn input() -> Value {
    Value::new(&SHAPE, &noise(1, &SHAPE))
}

const TORCH: [(&str, [&str; 2], &str); 5] = [
    ("Div", ["x", "1.4142135"], "scaled"),
    ("Erf", ["scaled", ""], "erf"),
    ("Add", ["erf", "1"], "gate"),
    ("Mul", ["x", "gate"], "product"),
    ("Mul", ["product", "0.5"], "y"),
];

const TANH: [(&str, [&str; 2], &str); 8] = [
    ("Pow", ["x", "3"], "cube"),
    ("Mul", ["cube", "0.044715"], "small"),
    ("Add", ["x", "small"], "sum"),
    ("Mul", ["sum", "0.7978846"], "scaled"),
    ("Tanh", ["scaled", ""], "tanh"),
    ("Add", ["tanh", "1"], "gate"),
    ("Mul", ["x", "0.5"], "half"),
    ("Mul", ["half", "gate"], "y"),
];

#[test]
fn erf_forms_become_gelu() {
    check(&model(&TORCH), &["Gelu"], "gate", &[input()], TOLERANCE);
    let dynamo = [TORCH[0], TORCH[1], TORCH[2], ("Mul", ["0.5", "gate"], "half"), ("Mul", ["x", "half"], "y")];
    check(&model(&dynamo), &["Gelu"], "half", &[input()], TOLERANCE);
    let half_first = [
        ("Mul", ["0.70710677", "x"], "scaled"),
        TORCH[1],
        ("Add", ["1", "erf"], "gate"),
        ("Mul", ["x", "0.5"], "half"),
        ("Mul", ["gate", "half"], "y"),
    ];
    check(&model(&half_first), &["Gelu"], "erf", &[input()], TOLERANCE);
    let halved = [TORCH[0], TORCH[1], TORCH[2], TORCH[3], ("Div", ["product", "2"], "y")];
    check(&model(&halved), &["Gelu"], "product", &[input()], TOLERANCE);
}

#[test]
fn tanh_forms_become_gelu() {
    check(&model(&TANH), &["Gelu"], "tanh", &[input()], TOLERANCE);
    let mut products = TANH.to_vec();
    products.splice(..1, [("Mul", ["x", "x"], "square"), ("Mul", ["square", "x"], "cube")]);
    check(&model(&products), &["Gelu"], "cube", &[input()], TOLERANCE);
    let mut factored = vec![
        ("Mul", ["x", "x"], "square"),
        ("Mul", ["square", "0.044715"], "small"),
        ("Add", ["small", "1"], "inner"),
        ("Mul", ["x", "0.7978846"], "outer"),
        ("Mul", ["outer", "inner"], "scaled"),
    ];
    factored.extend(&TANH[4..]);
    check(&model(&factored), &["Gelu"], "inner", &[input()], TOLERANCE);
}

#[test]
fn gelu_is_what_the_formula_says() {
    let formula = |x: f64| x / 2.0 * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3))).tanh());
    let expected: Vec<f32> = input().values::<f32>().iter().map(|&x| formula(x.into()) as f32).collect();
    assert_close(model(&TANH).run(&[input()]).unwrap()[0].values(), &expected, TOLERANCE);
}

#[test]
fn near_misses_stay() {
    let with = |at: usize, node| {
        let mut nodes = TORCH.to_vec();
        nodes[at] = node;
        assert_eq!(fused(&model(&nodes)).len(), 5);
    };
    with(0, ("Div", ["x", "1.42"], "scaled"));
    with(0, ("Div", ["1.4142135", "x"], "scaled"));
    with(2, ("Add", ["erf", "2"], "gate"));
    with(3, ("Mul", ["erf", "gate"], "product"));
    with(4, ("Mul", ["product", "0.25"], "y"));
    let mut nodes = TANH.to_vec();
    nodes[0] = ("Pow", ["x", "2"], "cube");
    assert_eq!(fused(&model(&nodes)).len(), 8);
}
