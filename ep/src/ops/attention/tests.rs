use kernels::tensor::DType;

use crate::ir::Attr;
use crate::ops::attention_testing::{Expected, run, run_all, value};
use crate::testing::Value;

const B: usize = 2;
const S: usize = 3;
const H: usize = 2;
const INPUT: usize = 5;
const OP: (&str, &str, i32) = ("com.microsoft", "Attention", 1);

/// Runs the operator with head widths `widths` and compares it with the reference.
fn check(
    widths: [usize; 2],
    with_bias: bool,
    mask: Option<Value>,
    added: Option<Value>,
    mut attrs: Vec<(&'static str, Attr<'static>)>,
    bias: &dyn Fn([usize; 4]) -> f64,
) {
    let [q_width, v_width] = widths.map(|width| width * H);
    let columns = 2 * q_width + v_width;
    let (x, w, row) = (value(&[B, S, INPUT], 1), value(&[INPUT, columns], 2), value(&[columns], 3));
    attrs.push(("num_heads", Attr::Int(H as i64)));
    if widths[0] != widths[1] {
        let sizes = [q_width, q_width, v_width].map(|size| size as i64);
        attrs.push(("qkv_hidden_sizes", Attr::Ints(sizes.to_vec())));
    }
    let scale = attrs.iter().find_map(|(name, attr)| match (name, attr) {
        (&"scale", Attr::Float(scale)) if *scale != 0.0 => Some(f64::from(*scale)),
        _ => None,
    });
    let inputs = [Some(x.clone()), Some(w.clone()), with_bias.then(|| row.clone()), mask, None, added];
    let y = run(OP, &inputs, &[1], attrs).unwrap();
    assert_eq!(y.dims.as_slice(), [B, S, v_width]);
    let (x, w, row) = (x.values::<f32>(), w.values::<f32>(), row.values::<f32>());
    let projected = |[b, h, s, d]: [usize; 4], first: usize, width: usize| {
        let column = first + h * width + d;
        let product: f64 =
            (0..INPUT).map(|i| f64::from(x[(b * S + s) * INPUT + i]) * f64::from(w[i * columns + column])).sum();
        (product + if with_bias { f64::from(row[column]) } else { 0.0 }) as f32
    };
    Expected {
        sizes: [B, H, S, S],
        widths,
        scale: scale.unwrap_or(1.0 / (widths[0] as f64).sqrt()),
        q: &|at| projected(at, 0, widths[0]),
        k: &|at| projected(at, q_width, widths[0]),
        v: &|at| projected(at, 2 * q_width, widths[1]),
        bias,
    }
    .check(&y, false);
}

#[test]
fn every_optional_input_may_be_absent() {
    for widths in [[2, 2], [4, 1]] {
        for with_bias in [false, true] {
            check(widths, with_bias, None, None, vec![], &|_| 0.0);
            check(widths, with_bias, None, None, vec![("scale", Attr::Float(0.25))], &|_| 0.0);
            let added = value(&[B, H, S, S], 4);
            let values = added.values::<f32>().to_vec();
            let bias = move |[b, h, s, t]: [usize; 4]| f64::from(values[((b * H + h) * S + s) * S + t]);
            check(widths, with_bias, None, Some(added), vec![], &bias);
            let added = value(&[1, H, S, S], 4);
            let values = added.values::<f32>().to_vec();
            let bias = move |[_, h, s, t]: [usize; 4]| f64::from(values[(h * S + s) * S + t]);
            check(widths, with_bias, None, Some(added), vec![], &bias);
        }
    }
}

#[test]
fn every_form_of_the_mask() {
    let hide = |hidden: bool| if hidden { -50.0 } else { 0.0 };
    let attrs = || vec![("mask_filter_value", Attr::Float(-50.0))];
    let lengths = [2, 3];
    let mask = Value::new(&[B], &lengths);
    check([2, 2], true, Some(mask), None, attrs(), &|[b, _, _, t]| hide(t as i32 >= lengths[b]));
    let bounds = [2, 3, 1, 0];
    let mask = Value::new(&[2 * B], &bounds);
    let outside = move |[b, _, _, t]: [usize; 4]| hide(t as i32 >= bounds[b] || (t as i32) < bounds[B + b]);
    check([2, 2], true, Some(mask), None, attrs(), &outside);
    let flags = [1, 0, 1, 0, 0, 0];
    let mask = Value::new(&[B, S], &flags);
    check([2, 2], false, Some(mask), None, attrs(), &move |[b, _, _, t]| hide(flags[b * S + t] == 0));
    for dims in [[B, 1], [1, 1]] {
        let mask = Value::new(&dims, &vec![0i32; dims[0]]);
        check([2, 2], false, Some(mask), None, attrs(), &|_| 0.0);
    }
    let flags: Vec<i32> = (0..B * S * S).map(|index| i32::from(index % 4 != 1)).collect();
    let mask = Value::new(&[B, S, S], &flags);
    check([2, 2], false, Some(mask), None, attrs(), &move |[b, _, s, t]| hide(flags[(b * S + s) * S + t] == 0));
}

#[test]
fn unidirectional_hides_later_keys() {
    let later = |[_, _, s, t]: [usize; 4]| if t > s { f64::NEG_INFINITY } else { 0.0 };
    check([2, 2], true, None, None, vec![("unidirectional", Attr::Int(1))], &later);
}

#[test]
fn what_is_not_supported_is_declined() {
    let input = || vec![Some(value(&[B, S, INPUT], 1)), Some(value(&[INPUT, 12], 2)), Some(value(&[12], 3))];
    let heads = ("num_heads", Attr::Int(2));
    let reason = |inputs: &[Option<Value>], constants: &[usize], attrs| {
        run(OP, inputs, constants, attrs).unwrap_err().to_string()
    };
    let with = |extra: Vec<Option<Value>>| input().into_iter().chain(extra).collect::<Vec<_>>();
    assert!(reason(&input(), &[], vec![heads.clone()]).contains("not a constant"));
    assert!(reason(&input(), &[1], vec![]).contains("num_heads"));
    assert!(reason(&input(), &[1], vec![heads.clone(), ("do_rotary", Attr::Int(1))]).contains("do_rotary"));
    let past = with(vec![None, Some(value(&[2, B, 3, 1, 2], 4))]);
    assert!(reason(&past, &[1], vec![heads.clone()]).contains("a past of shape"));
    let shared = ("past_present_share_buffer", Attr::Int(1));
    assert!(reason(&input(), &[1], vec![heads.clone(), shared]).contains("share_buffer"));
    let mask = with(vec![Some(Value::new(&[B, 1, S, S], &[1i32; B * S * S]))]);
    assert!(reason(&mask, &[1], vec![heads.clone()]).contains("4 dimensions"));
    let short = with(vec![Some(Value::new(&[B + 1], &[1i32; B + 1]))]);
    assert!(reason(&short, &[1], vec![heads]).contains("[3]"));
}

#[test]
fn a_past_comes_before_the_new_keys() {
    const P: usize = 4;
    let (x, w) = (value(&[B, S, INPUT], 1), value(&[INPUT, 12], 2));
    let past = value(&[2, B, H, P, 2], 4);
    let inputs = [Some(x.clone()), Some(w.clone()), None, None, Some(past.clone())];
    let attrs = vec![("num_heads", Attr::Int(2)), ("unidirectional", Attr::Int(1))];
    let outputs = run_all(OP, &inputs, &[1], attrs, &[DType::F32; 2]).unwrap();
    assert_eq!(outputs[1].dims.as_slice(), [2, B, H, P + S, 2]);
    let (x, w, past) = (x.values::<f32>(), w.values::<f32>(), past.values::<f32>());
    let projected = |[b, h, s, d]: [usize; 4], part: usize| {
        let column = part * 4 + h * 2 + d;
        (0..INPUT).map(|i| f64::from(x[(b * S + s) * INPUT + i]) * f64::from(w[i * 12 + column])).sum::<f64>() as f32
    };
    let present = |[b, h, t, d]: [usize; 4], part: usize| match t.checked_sub(P) {
        Some(s) => projected([b, h, s, d], 1 + part),
        None => past[(((part * B + b) * H + h) * P + t) * 2 + d],
    };
    for (index, actual) in outputs[1].values::<f32>().iter().enumerate() {
        let (d, t, h) = (index % 2, index / 2 % (P + S), index / 2 / (P + S) % H);
        let unit = index / 2 / (P + S) / H;
        assert!((actual - present([unit % B, h, t, d], unit / B)).abs() < 1e-6);
    }
    Expected {
        sizes: [B, H, S, P + S],
        widths: [2, 2],
        scale: 1.0 / 2f64.sqrt(),
        q: &|at| projected(at, 0),
        k: &|at| present(at, 0),
        v: &|at| present(at, 1),
        bias: &|[_, _, s, t]| if t > s + P { f64::NEG_INFINITY } else { 0.0 },
    }
    .check(&outputs[0], false);
}
