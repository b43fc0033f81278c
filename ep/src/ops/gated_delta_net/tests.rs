use crate::Error;
use crate::ir::{Attr, Dim};
use crate::ops::attention_testing::value;
use crate::testing::{Model, Value};

const NAMES: [&str; 9] = ["q", "k", "v", "seq", "decay", "beta", "state", "a_log", "dt_bias"];
const HEADS: [usize; 2] = [1, 2];
const WIDTHS: [usize; 2] = [3, 2];
const TOKENS: usize = 4;

/// Shapes of the inputs, those left out empty.
fn dims(by_key: bool) -> [&'static [usize]; 9] {
    let decay: &[usize] = if by_key { &[TOKENS, 2, 3] } else { &[TOKENS, 2] };
    let bias: &[usize] = if by_key { &[2, 3] } else { &[2] };
    [&[TOKENS, 1, 3], &[TOKENS, 1, 3], &[TOKENS, 2, 2], &[], decay, &[TOKENS, 2], &[1, 2, 2, 3], &[2], bias]
}

fn run(dims: [&[usize]; 9], attrs: Vec<(&str, Attr<'static>)>) -> Result<Vec<Value>, Error> {
    let given: Vec<(&str, Value)> = (0..9)
        .filter(|&index| !dims[index].is_empty())
        .map(|index| (NAMES[index], value(dims[index], index)))
        .collect();
    run_with(&given, attrs)
}

fn run_with(given: &[(&str, Value)], attrs: Vec<(&str, Attr<'static>)>) -> Result<Vec<Value>, Error> {
    let mut model = Model::new();
    for (name, value) in given {
        model.input_of(name, value.dtype, value.dims.iter().map(|&dim| Dim::Known(dim)).collect());
    }
    let names = NAMES.map(|name| if given.iter().any(|(other, _)| *other == name) { name } else { "" });
    model.domain("com.microsoft").version(1);
    model.node("GatedDeltaNet", &names, &["y", "last"], attrs).output("y").output("last");
    model.run(&given.iter().map(|(_, value)| value.clone()).collect::<Vec<_>>())
}

fn at(dims: [&[usize]; 9], index: usize, i: usize) -> f64 {
    value(dims[index], index).values::<f32>()[i].into()
}

/// The recurrence with every activation, in f64: y and the last state.
fn expected(dims: [&[usize]; 9], by_key: bool, gate: impl Fn(f64, f64, f64) -> f64) -> (Vec<f64>, Vec<f64>) {
    let ([_, v_heads], [dk, dv]) = (HEADS, WIDTHS);
    let at = |index: usize, i: usize| at(dims, index, i);
    // The state of head h, value j, key i is at (h * dv + j) * dk + i.
    let mut state: Vec<f64> = (0..v_heads * dv * dk).map(|i| at(6, i)).collect();
    let mut y = Vec::new();
    for token in 0..TOKENS {
        let length = |index| (0..dk).map(|i| at(index, token * dk + i).powi(2)).sum::<f64>().sqrt();
        let k = |i: usize| at(1, token * dk + i) / length(1);
        for h in 0..v_heads {
            for (j, i) in (0..dv * dk).map(|at| (at / dk, at % dk)) {
                let row = token * v_heads + h;
                let (x, bias) = if by_key { (at(4, row * dk + i), at(8, h * dk + i)) } else { (at(4, row), at(8, h)) };
                state[(h * dv + j) * dk + i] *= gate(at(7, h), x, bias).exp();
            }
            let beta = 1.0 / (1.0 + (-at(5, token * v_heads + h)).exp());
            for j in 0..dv {
                let line = &mut state[(h * dv + j) * dk..][..dk];
                let seen: f64 = line.iter().enumerate().map(|(i, s)| s * k(i)).sum();
                let update = beta * (at(2, (token * v_heads + h) * dv + j) - seen);
                line.iter_mut().enumerate().for_each(|(i, s)| *s += update * k(i));
                let dot = line.iter().enumerate().map(|(i, s)| s * at(0, token * dk + i) / length(0));
                y.push(dot.sum::<f64>() / (dk as f64).sqrt());
            }
        }
    }
    (y, state)
}

fn assert_near(actual: &Value, expected: &[f64]) {
    assert_eq!(actual.values::<f32>().len(), expected.len());
    for (a, e) in actual.values::<f32>().iter().zip(expected) {
        assert!((f64::from(*a) - e).abs() < 1e-5, "{a} for {e}");
    }
}

fn activations(gate: &str) -> Vec<(&'static str, Attr<'static>)> {
    let text = |name, value: &str| (name, Attr::Str(value.into()));
    vec![text("gate_activation", gate), text("beta_activation", "sigmoid"), ("qk_l2_norm", Attr::Int(1))]
}

#[test]
fn every_activation() {
    let softplus = |a: f64, x: f64, bias: f64| -a.exp() * (x + bias).exp().ln_1p();
    let sigmoid = |a: f64, x: f64, bias: f64| -5.0 / (1.0 + (-a.exp() * (x + bias)).exp());
    for by_key in [false, true] {
        let dims = dims(by_key);
        for (name, (y, state)) in
            [("softplus", expected(dims, by_key, softplus)), ("kda", expected(dims, by_key, sigmoid))]
        {
            let outputs = run(dims, activations(name)).unwrap();
            assert_near(&outputs[0], &y);
            assert_near(&outputs[1], &state);
        }
    }
}

#[test]
fn packed_operands_and_two_axes_of_tokens() {
    let dims = dims(false);
    let plain = run(dims, activations("softplus")).unwrap();
    let parts = [0, 1, 2].map(|index| value(dims[index], index));
    let mut rows: Vec<f32> = Vec::new();
    for token in 0..TOKENS {
        parts.iter().for_each(|part| {
            let width = part.values::<f32>().len() / TOKENS;
            rows.extend(&part.values::<f32>()[token * width..][..width]);
        });
    }
    let rest = |batched: bool| {
        (4..9).map(move |index| {
            let own = value(dims[index], index);
            let shape = [&[1], dims[index]].concat();
            let batched = batched && index < 6;
            (NAMES[index], if batched { Value::new(&shape, own.values::<f32>()) } else { own })
        })
    };
    let packed: Vec<_> = [("q", Value::new(&[TOKENS, 10], &rows))].into_iter().chain(rest(false)).collect();
    assert_eq!(run_with(&packed, activations("softplus")).unwrap(), plain);
    let packed: Vec<_> = [("q", Value::new(&[1, TOKENS, 10], &rows))].into_iter().chain(rest(true)).collect();
    let outputs = run_with(&packed, activations("softplus")).unwrap();
    assert_eq!(outputs[0], Value::new(&[1, TOKENS, 2, 2], plain[0].values::<f32>()));
}

#[test]
fn what_is_not_known_is_refused() {
    let fails = |change: fn(&mut [&'static [usize]; 9]), text: &str| {
        let mut dims = dims(false);
        change(&mut dims);
        let error = run(dims, activations("softplus")).unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    };
    fails(|dims| dims[6] = &[], "input 6 is missing");
    fails(|dims| dims[7] = &[], "input 7 is missing");
    fails(|dims| dims[3] = &[2], "several lengths");
    fails(|dims| dims[6] = &[1, 2, 2, 4], "does not fit a state");
    fails(|dims| dims[4] = &[TOKENS, 3], "a decay of shape");
    fails(|dims| dims[8] = &[3], "input 8 of shape");
}
