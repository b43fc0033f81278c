use crate::ir::Attr;
use crate::ops::attention_testing::{Expected, run, value};
use crate::testing::Value;

const B: usize = 2;
const H: usize = 2;
const S: usize = 3;
const T: usize = 5;
const OP: (&str, &str, i32) = ("com.microsoft", "MultiHeadAttention", 1);

fn heads() -> (&'static str, Attr<'static>) {
    ("num_heads", Attr::Int(H as i64))
}

/// How key and value come.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Separate,
    HeadsFirst,
    PackedKv,
    PackedQkv,
}

/// Runs the operator in a form and compares it with the reference.
fn check(
    form: Form,
    widths: [usize; 2],
    with_bias: bool,
    rest: [Option<Value>; 2],
    mut attrs: Vec<(&'static str, Attr<'static>)>,
    bias: &dyn Fn([usize; 4]) -> f64,
) {
    let [d, dv] = widths;
    let keys = if form == Form::PackedQkv { S } else { T };
    let (query, key, val) = match form {
        Form::Separate => (value(&[B, S, H * d], 1), Some(value(&[B, T, H * d], 2)), Some(value(&[B, T, H * dv], 3))),
        Form::HeadsFirst => (value(&[B, S, H * d], 1), Some(value(&[B, H, T, d], 2)), Some(value(&[B, H, T, dv], 3))),
        Form::PackedKv => (value(&[B, S, H * d], 1), Some(value(&[B, T, H, 2, d], 2)), None),
        Form::PackedQkv => (value(&[B, S, H, 3, d], 1), None, None),
    };
    let row = value(&[2 * H * d + H * dv], 4);
    attrs.push(heads());
    let [mask, added] = rest;
    let inputs = [Some(query.clone()), key.clone(), val.clone(), with_bias.then(|| row.clone()), mask, added];
    let y = run(OP, &inputs, &[], attrs).unwrap();
    assert_eq!(y.dims.as_slice(), [B, S, H * dv]);
    let part = |index: usize, [b, h, s, c]: [usize; 4]| {
        let width = if index == 2 { dv } else { d };
        let source = match (index, form) {
            (0, _) | (_, Form::PackedQkv) => &query,
            (2, Form::Separate | Form::HeadsFirst) => val.as_ref().unwrap(),
            _ => key.as_ref().unwrap(),
        };
        let rows = if index == 0 { S } else { keys };
        let at = match (index, form) {
            (_, Form::PackedQkv) => (((b * rows + s) * H + h) * 3 + index) * d + c,
            (1 | 2, Form::PackedKv) => (((b * rows + s) * H + h) * 2 + index - 1) * d + c,
            (1 | 2, Form::HeadsFirst) => ((b * H + h) * rows + s) * width + c,
            _ => ((b * rows + s) * H + h) * width + c,
        };
        let bias = if with_bias { row.values::<f32>()[index * H * d + h * width + c] } else { 0.0 };
        source.values::<f32>()[at] + bias
    };
    Expected {
        sizes: [B, H, S, keys],
        widths,
        scale: 1.0 / (d as f64).sqrt(),
        q: &|at| part(0, at),
        k: &|at| part(1, at),
        v: &|at| part(2, at),
        bias,
    }
    .check(&y, false);
}

#[test]
fn every_form_of_query_key_and_value() {
    for form in [Form::Separate, Form::HeadsFirst] {
        check(form, [4, 4], false, [None, None], vec![], &|_| 0.0);
        check(form, [2, 5], false, [None, None], vec![], &|_| 0.0);
    }
    check(Form::PackedKv, [4, 4], false, [None, None], vec![], &|_| 0.0);
    check(Form::PackedQkv, [4, 4], false, [None, None], vec![], &|_| 0.0);
}

#[test]
fn the_bias_of_the_projections_is_added() {
    check(Form::Separate, [2, 5], true, [None, None], vec![], &|_| 0.0);
    check(Form::PackedQkv, [4, 4], true, [None, None], vec![], &|_| 0.0);
}

#[test]
fn masks_and_biases_of_the_scores() {
    let attrs = || vec![("mask_filter_value", Attr::Float(-40.0))];
    let flags = [1, 1, 0, 1, 0, 1, 0, 0, 0, 1];
    let hide = move |b: usize, t: usize| if flags[b * T + t] == 0 { -40.0 } else { 0.0 };
    let mask = Value::new(&[B, T], &flags);
    check(Form::Separate, [2, 2], false, [Some(mask.clone()), None], attrs(), &|[b, _, _, t]| hide(b, t));
    let added = value(&[1, H, S, T], 5);
    let values = added.values::<f32>().to_vec();
    let both = |[b, h, s, t]: [usize; 4]| hide(b, t) + f64::from(values[(h * S + s) * T + t]);
    check(Form::Separate, [2, 2], true, [Some(mask), Some(added)], attrs(), &both);
    let lengths = [4, 1];
    let mask = Value::new(&[B], &lengths);
    let outside = |[b, _, _, t]: [usize; 4]| if t as i32 >= lengths[b] { -40.0 } else { 0.0 };
    check(Form::HeadsFirst, [2, 2], false, [Some(mask), None], attrs(), &outside);
}

#[test]
fn unidirectional_hides_later_keys() {
    let later = |[_, _, s, t]: [usize; 4]| if t > s { f64::NEG_INFINITY } else { 0.0 };
    check(Form::Separate, [2, 2], false, [None, None], vec![("unidirectional", Attr::Int(1))], &later);
}

#[test]
fn what_does_not_fit_is_named() {
    let error = |inputs: &[Option<Value>], attrs| run(OP, inputs, &[], attrs).unwrap_err().to_string();
    let (q, k) = (Some(value(&[B, S, 4], 1)), Some(value(&[B, T, 4], 2)));
    assert!(error(&[q.clone(), k.clone(), k.clone()], vec![]).contains("num_heads"));
    assert!(error(&[q.clone(), None, k.clone()], vec![heads()]).contains("without a key"));
    assert!(error(&[q.clone(), None, None], vec![heads()]).contains("2 heads"));
    assert!(error(&[q.clone(), k.clone(), Some(value(&[B, T, 3], 3))], vec![heads()]).contains("2 heads"));
    assert!(error(&[q, k.clone(), k, Some(value(&[11], 4))], vec![heads()]).contains("[11]"));
}
