use kernels::tensor::DType;

use crate::ir::Attr;
use crate::ops::attention_testing::{Expected, run, run_all, value};
use crate::testing::Value;

const B: usize = 2;
const H: usize = 4;
const KV: usize = 2;
const S: usize = 3;
const T: usize = 5;
const D: usize = 3;
const DV: usize = 2;
const OP: (&str, &str, i32) = ("", "Attention", 23);

/// Runs the operator with operands of 3 or 4 dimensions and compares it with the reference.
fn check(
    four: bool,
    mask: Option<Value>,
    mut attrs: Vec<(&'static str, Attr<'static>)>,
    scale: f64,
    bias: &dyn Fn([usize; 4]) -> f64,
) {
    let dims = |heads: usize, rows: usize, cols: usize| match four {
        true => vec![B, heads, rows, cols],
        false => vec![B, rows, heads * cols],
    };
    let (q, k, v) = (value(&dims(H, S, D), 1), value(&dims(KV, T, D), 2), value(&dims(KV, T, DV), 3));
    if !four {
        attrs.extend([("q_num_heads", Attr::Int(H as i64)), ("kv_num_heads", Attr::Int(KV as i64))]);
    }
    let y = run(OP, &[Some(q.clone()), Some(k.clone()), Some(v.clone()), mask], &[], attrs).unwrap();
    assert_eq!(y.dims.as_slice(), dims(H, S, DV));
    let at = |value: &Value, [b, h, s, c]: [usize; 4], heads: usize, rows: usize, cols: usize| {
        let h = h / (H / heads);
        let row = if four { (b * heads + h) * rows + s } else { (b * rows + s) * heads + h };
        value.values::<f32>()[row * cols + c]
    };
    Expected {
        sizes: [B, H, S, T],
        widths: [D, DV],
        scale,
        q: &|index| at(&q, index, H, S, D),
        k: &|index| at(&k, index, KV, T, D),
        v: &|index| at(&v, index, KV, T, DV),
        bias,
    }
    .check(&y, four);
}

#[test]
fn three_and_four_dimensions_with_grouped_heads() {
    for four in [false, true] {
        check(four, None, vec![], 1.0 / (D as f64).sqrt(), &|_| 0.0);
        check(four, None, vec![("scale", Attr::Float(0.5))], 0.5, &|_| 0.0);
    }
}

#[test]
fn masks_of_both_kinds_and_causal() {
    let scale = 1.0 / (D as f64).sqrt();
    let flags: Vec<u8> = (0..S * T).map(|index| u8::from(index % 3 != 1)).collect();
    let mask = Value::new(&[S, T], &flags).into_bool();
    let hide = |s: usize, t: usize| if flags[s * T + t] == 0 { f64::NEG_INFINITY } else { 0.0 };
    check(true, Some(mask.clone()), vec![], scale, &|[_, _, s, t]| hide(s, t));
    let both = |[_, _, s, t]: [usize; 4]| if t > s { f64::NEG_INFINITY } else { hide(s, t) };
    check(false, Some(mask), vec![("is_causal", Attr::Int(1))], scale, &both);
    for dims in [&[H, S, T][..], &[B, 1, S, T], &[B, H, S, T]] {
        let mask = value(dims, 5);
        let values = mask.values::<f32>().to_vec();
        let strides = match dims.len() {
            3 => [0, S * T],
            _ => [dims[1] * S * T, if dims[1] == 1 { 0 } else { S * T }],
        };
        let bias = |[b, h, s, t]: [usize; 4]| f64::from(values[b * strides[0] + h * strides[1] + s * T + t]);
        check(true, Some(mask), vec![], scale, &bias);
    }
}

#[test]
fn hidden_rows_are_zero_and_nan_stays() {
    let mut q = vec![0.5f32; 2 * 2];
    q[2] = f32::NAN;
    let flags = Value::new(&[2, 2], &[0u8, 0, 1, 1]).into_bool();
    let kv = Value::new(&[1, 1, 2, 2], &[1.0f32, 2.0, 3.0, 4.0]);
    let inputs = [Some(Value::new(&[1, 1, 2, 2], &q)), Some(kv.clone()), Some(kv), Some(flags)];
    let y = run(OP, &inputs, &[], vec![]).unwrap();
    assert_eq!(y.values::<f32>()[..2], [0.0, 0.0]);
    assert!(y.values::<f32>()[2..].iter().all(|y| y.is_nan()));
}

#[test]
fn softcap_comes_before_the_mask() {
    let one = |x: f32| Some(Value::new(&[1, 1, 1, 1], &[x]));
    let keys = Some(Value::new(&[1, 1, 2, 1], &[5.0f32, 0.0]));
    let values = Some(Value::new(&[1, 1, 2, 1], &[1.0f32, 0.0]));
    let mask = Some(Value::new(&[1, 2], &[-1.0f32, 0.0]));
    let attrs = vec![("softcap", Attr::Float(2.0))];
    let y = run(OP, &[one(3.0), keys, values, mask], &[], attrs).unwrap();
    let score = 2.0 * (15.0f64 / 2.0).tanh() - 1.0;
    assert!((f64::from(y.values::<f32>()[0]) - score.exp() / (score.exp() + 1.0)).abs() < 1e-6);
}

#[test]
fn what_is_not_supported_is_named() {
    let (q, k) = (Some(value(&[B, S, 4], 1)), Some(value(&[B, T, 4], 2)));
    let error = |inputs: &[Option<Value>], attrs| run(OP, inputs, &[], attrs).unwrap_err().to_string();
    assert!(error(&[q.clone(), k.clone(), k.clone()], vec![]).contains("numbers of heads"));
    let attrs = [("q_num_heads", 2), ("kv_num_heads", 2), ("softmax_precision", 11)];
    let attrs = attrs.map(|(name, value)| (name, Attr::Int(value))).to_vec();
    assert!(error(&[q, k.clone(), k], attrs).contains("softmax_precision"));
    let (q, k) = (Some(value(&[1, 1, 2, 4], 1)), Some(value(&[1, 1, 3, 4], 2)));
    let long = Some(value(&[2, 4], 3));
    assert!(error(&[q.clone(), k.clone(), k.clone(), long], vec![]).contains("3 keys"));
    let past = Some(value(&[1, 2, 1, 4], 4));
    let cached = [q.clone(), k.clone(), k.clone(), None, past.clone(), past.clone()];
    assert!(error(&cached, vec![]).contains("a past of shape"));
    assert!(error(&[q.clone(), k.clone(), k.clone(), None, past.clone()], vec![]).contains("only one"));
    let counts = Some(Value::new(&[1], &[2i64]));
    assert!(error(&[q, k.clone(), k, None, past.clone(), past, counts], vec![]).contains("beside a past"));
}

#[test]
fn keys_behind_a_short_mask_are_hidden() {
    let scale = 1.0 / (D as f64).sqrt();
    let mask = value(&[S, T - 2], 5);
    let values = mask.values::<f32>().to_vec();
    let bias = |[_, _, s, t]: [usize; 4]| {
        if t < T - 2 { f64::from(values[s * (T - 2) + t]) } else { f64::NEG_INFINITY }
    };
    check(true, Some(mask), vec![], scale, &bias);
}

#[test]
fn a_past_comes_before_the_new_keys() {
    const P: usize = 6;
    let (q, k) = (value(&[B, H, S, D], 1), value(&[B, KV, S, D], 2));
    let past = value(&[B, KV, P, D], 3);
    let inputs = [Some(q.clone()), Some(k.clone()), Some(k.clone()), None, Some(past.clone()), Some(past.clone())];
    let attrs = vec![("is_causal", Attr::Int(1))];
    let outputs = run_all(OP, &inputs, &[], attrs, &[DType::F32; 3]).unwrap();
    assert_eq!(outputs[1].dims.as_slice(), [B, KV, P + S, D]);
    assert_eq!(outputs[1].values::<f32>(), outputs[2].values::<f32>());
    let (past, new, all) = (past.values::<f32>(), k.values::<f32>(), outputs[1].values::<f32>());
    let present = |[b, h, t, d]: [usize; 4]| {
        let unit = b * KV + h / (H / KV);
        let found = all[(unit * (P + S) + t) * D + d];
        let wanted = if t < P { past[(unit * P + t) * D + d] } else { new[(unit * S + t - P) * D + d] };
        assert_eq!(found, wanted);
        wanted
    };
    let q = q.values::<f32>();
    Expected {
        sizes: [B, H, S, P + S],
        widths: [D, D],
        scale: 1.0 / (D as f64).sqrt(),
        q: &|[b, h, s, d]| q[((b * H + h) * S + s) * D + d],
        k: &present,
        v: &present,
        bias: &|[_, _, s, t]| if t > s + P { f64::NEG_INFINITY } else { 0.0 },
    }
    .check(&outputs[0], true);
}
