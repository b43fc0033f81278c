use crate::Error;
use crate::ir::Attr;
use crate::ops::attention_testing::value;
use crate::testing::{Model, Value};

const NAMES: [&str; 6] = ["q", "k", "v", "past", "decay", "beta"];

/// Output and state of a node with these heads; shapes of the inputs, empty where one is left out.
fn run(
    domain: &'static str,
    rule: &str,
    heads: [i64; 2],
    window: Option<i64>,
    dims: &[&[usize]],
) -> Result<Vec<Value>, Error> {
    let mut model = Model::new();
    let (mut given, mut names) = (Vec::new(), Vec::new());
    for (index, dims) in dims.iter().enumerate() {
        names.push(if dims.is_empty() { "" } else { NAMES[index] });
        if !dims.is_empty() {
            model.input::<f32>(NAMES[index], dims);
            given.push(value(dims, index));
        }
    }
    let mut attrs = vec![
        ("update_rule", Attr::Str(rule.into())),
        ("q_num_heads", Attr::Int(heads[0])),
        ("kv_num_heads", Attr::Int(heads[1])),
    ];
    attrs.extend(window.map(|window| ("state_window", Attr::Int(window))));
    model.domain(domain).version(if domain.is_empty() { 27 } else { 1 });
    model.node("LinearAttention", &names, &["y", "state"], attrs).output("y").output("state");
    model.run(&given)
}

#[test]
fn one_token_by_hand() {
    // One head of two keys and one value: S = exp(g) S + beta (v - exp(g) S.k) k.
    let dims: [&[usize]; 6] = [&[1, 1, 2], &[1, 1, 2], &[1, 1, 1], &[1, 1, 2, 1], &[1, 1, 1], &[1, 1, 1]];
    let outputs = run("", "gated_delta", [1, 1], None, &dims).unwrap();
    let at = |index: usize, i: usize| f64::from(value(dims[index], index).values::<f32>()[i]);
    let forgotten = [0, 1].map(|i| at(3, i) * at(4, 0).exp());
    let update = at(5, 0) * (at(2, 0) - forgotten[0] * at(1, 0) - forgotten[1] * at(1, 1));
    let state = [0, 1].map(|i| forgotten[i] + at(1, i) * update);
    let y = (state[0] * at(0, 0) + state[1] * at(0, 1)) / 2f64.sqrt();
    assert!((f64::from(outputs[0].values::<f32>()[0]) - y).abs() < 1e-6);
    for (actual, expected) in outputs[1].values::<f32>().iter().zip(state) {
        assert!((f64::from(*actual) - expected).abs() < 1e-6);
    }
}

#[test]
fn shapes_of_all_forms() {
    let dims: [&[usize]; 6] = [&[2, 3, 8], &[2, 3, 4], &[2, 3, 6], &[], &[2, 3, 4], &[2, 3, 1]];
    let outputs = run("", "gated_delta", [4, 2], None, &dims).unwrap();
    assert_eq!([&outputs[0].dims[..], &outputs[1].dims[..]], [&[2, 3, 12][..], &[2, 2, 2, 3]]);
    let dims: [&[usize]; 5] = [&[2, 3, 4], &[2, 3, 8], &[2, 3, 4], &[3, 2, 4, 2, 1], &[2, 3, 4]];
    let outputs = run("com.microsoft", "gated", [2, 4], Some(3), &dims).unwrap();
    assert_eq!([&outputs[0].dims[..], &outputs[1].dims[..]], [&[2, 3, 4][..], &[3, 2, 4, 2, 1]]);
}

#[test]
fn what_does_not_fit_is_refused() {
    let fails = |rule, heads, dims: &[&[usize]], text: &str| {
        let error = run("", rule, heads, None, dims).unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    };
    let fine: [&[usize]; 3] = [&[1, 2, 4], &[1, 2, 4], &[1, 2, 4]];
    fails("spin", [1, 1], &fine, "update_rule 'spin'");
    fails("linear", [1, 2], &fine, "do not share");
    fails("linear", [0, 1], &fine, "'q_num_heads' is 0");
    fails("gated", [1, 1], &fine, "input 4 is missing");
    fails("linear", [1, 1], &[&[1, 2, 4], &[1, 3, 4], &[1, 2, 4]], "have shapes");
    fails("linear", [1, 1], &[&[1, 2, 4], &[1, 2, 4], &[1, 2, 4], &[1, 1, 3, 4]], "none of the shapes");
}

#[test]
fn the_gate_follows_its_formula() {
    let mut model = Model::new();
    model.input::<f32>("a", &[1, 2, 3]).input::<f32>("bias", &[3]).input::<f32>("scale", &[3]);
    model.input::<f32>("b", &[1, 2, 3]).domain("com.microsoft").version(1);
    model.node("LinearAttentionGate", &["a", "bias", "scale", "b"], &["decay", "beta"], vec![]);
    model.output("decay").output("beta");
    let inputs = [value(&[1, 2, 3], 1), value(&[3], 2), value(&[3], 3), value(&[1, 2, 3], 4)];
    let outputs = model.run(&inputs).unwrap();
    let at = |index: usize, i: usize| f64::from(inputs[index].values::<f32>()[i]);
    for i in 0..6 {
        let decay = at(2, i % 3) * (at(0, i) + at(1, i % 3)).exp().ln_1p();
        let beta = 1.0 / (1.0 + (-at(3, i)).exp());
        assert!((f64::from(outputs[0].values::<f32>()[i]) - decay).abs() < 1e-6);
        assert!((f64::from(outputs[1].values::<f32>()[i]) - beta).abs() < 1e-6);
    }
}
