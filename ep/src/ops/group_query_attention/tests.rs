use kernels::tape::Argument;
use kernels::tensor::TensorView;

use super::*;
use crate::ir::{Attr, Dim};
use crate::ops::attention_testing::{Expected, run_all, value};
use crate::testing::{Model, Value};
use crate::{Error, Options, Provider};

const OP: (&str, &str, i32) = ("com.microsoft", "GroupQueryAttention", 1);
const B: usize = 2;
const H: usize = 4;
const KV: usize = 2;
const W: usize = 4;

fn attrs(more: &[(&'static str, Attr<'static>)]) -> Vec<(&'static str, Attr<'static>)> {
    let mut attrs = vec![("num_heads", Attr::Int(H as i64)), ("kv_num_heads", Attr::Int(KV as i64))];
    attrs.extend(more.iter().cloned());
    attrs
}

/// Packed queries, keys and values of `seq` tokens, caches with room for `capacity` positions, last positions, total.
fn inputs(seq: usize, capacity: usize, last: [i32; B], total: i32) -> Vec<Option<Value>> {
    let past = |seed| Some(value(&[B, KV, capacity, W], seed));
    let packed = value(&[B, seq, (H + 2 * KV) * W], 1);
    vec![Some(packed), None, None, past(2), past(3), Some(Value::new(&[B], &last)), Some(Value::new(&[1], &[total]))]
}

fn run(inputs: &[Option<Value>], attrs: Vec<(&'static str, Attr<'static>)>) -> Result<Vec<Value>, Error> {
    run_all(OP, inputs, &[], attrs, &[DType::F32; 3])
}

#[test]
fn ragged_sequences_with_rotation_and_norms() {
    let (seq, capacity, last) = (1, 7, [6, 2]);
    let mut inputs = inputs(seq, capacity, last, 7);
    let (cos, sin, weights) = (value(&[9, 2], 4), value(&[9, 2], 5), [value(&[W], 6), value(&[W], 7)]);
    inputs.extend([Some(cos.clone()), Some(sin.clone()), None, None, None, None, None]);
    inputs.extend(weights.clone().map(Some));
    let (rotate, epsilon) = (("do_rotary", Attr::Int(1)), ("qk_norm_epsilon", Attr::Float(0.5)));
    let outputs = run(&inputs, attrs(&[rotate, epsilon])).unwrap();
    assert_eq!(outputs[1].dims.as_slice(), [B, KV, capacity, W]);
    let packed = inputs[0].as_ref().unwrap().values::<f32>();
    let past = [3, 4].map(|index: usize| inputs[index].as_ref().unwrap().values::<f32>());
    let row = |b: usize, head: usize| &packed[(b * (H + 2 * KV) + head) * W..][..W];
    let turned = |b: usize, head: usize, which: usize| {
        let (x, weight) = (row(b, head), weights[which].values::<f32>());
        let mean: f32 = x.iter().map(|x| x * x).sum::<f32>() / W as f32;
        let x: Vec<f32> = x.iter().zip(weight).map(|(x, weight)| x / (mean + 0.5).sqrt() * weight).collect();
        let angle = |values: &Value, pair: usize| values.values::<f32>()[last[b] as usize * 2 + pair];
        let pair = |i: usize| (x[i], x[i + 2], angle(&cos, i), angle(&sin, i));
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for (a, b, cos, sin) in [pair(0), pair(1)] {
            first.push(a * cos - b * sin);
            second.push(a * sin + b * cos);
        }
        [first, second].concat()
    };
    let present = |[b, h, t, d]: [usize; 4], which: usize| {
        let kv = h / (H / KV);
        match t.cmp(&(last[b] as usize)) {
            std::cmp::Ordering::Less => past[which][((b * KV + kv) * capacity + t) * W + d],
            _ if which == 0 => turned(b, H + kv, 1)[d],
            _ => row(b, H + KV + kv)[d],
        }
    };
    for (index, actual) in outputs[1].values::<f32>().iter().enumerate() {
        let [d, t, kv, b] = [index % W, index / W % capacity, index / W / capacity % KV, index / W / capacity / KV];
        if t <= last[b] as usize {
            assert!((actual - present([b, kv * H / KV, t, d], 0)).abs() < 1e-6);
        }
    }
    Expected {
        sizes: [B, H, seq, capacity],
        widths: [W, W],
        scale: 0.5,
        q: &|[b, h, _, d]| turned(b, h, 0)[d],
        k: &|at| present(at, 0),
        v: &|at| present(at, 1),
        bias: &|[b, _, _, t]| if t as i32 > last[b] { f64::NEG_INFINITY } else { 0.0 },
    }
    .check(&outputs[0], false);
}

#[test]
fn a_cache_in_one_memory_is_extended_in_place() {
    let inputs: Vec<Value> = inputs(1, 7, [6, 2], 7).into_iter().flatten().collect();
    let mut model = Model::new();
    let names = ["packed", "past_key", "past_value", "last", "total"];
    for (name, value) in names.iter().zip(&inputs) {
        model.input_of(name, value.dtype, value.dims.iter().map(|&dim| Dim::Known(dim)).collect());
    }
    let read = ["packed", "", "", "past_key", "past_value", "last", "total"];
    model.domain(MICROSOFT).version(1).node(OP.1, &read, &["y", "key", "value"], attrs(&[]));
    model.output("y").output("key").output("value");
    let separate = model.run(&inputs).unwrap();

    let provider = Provider::new(Options::parse([("threads", "2")]).unwrap()).unwrap();
    let group = provider.compile(&model.graph()).unwrap();
    let views: Vec<TensorView<'_>> = inputs.iter().map(Value::view).collect();
    let run = group.begin(&views).unwrap();
    assert!(run.may_share(1, 1) && run.may_share(2, 2) && !run.may_share(1, 2) && !run.may_share(0, 0));
    let mut y = vec![0f32; B * H * W];
    let [mut key, mut value] = [1, 2].map(|index: usize| inputs[index].values::<f32>().to_vec());
    let bytes = |index: usize| Argument::Bytes(inputs[index].bytes());
    let arguments = [bytes(0), Argument::Output(1), Argument::Output(2), bytes(3), bytes(4)];
    let outputs = &mut [&mut y, &mut key, &mut value].map(|data| bytemuck::cast_slice_mut(data));
    run.execute_sharing(&arguments, outputs).unwrap();
    assert_eq!(y, separate[0].values::<f32>());
    for (shared, separate, past) in [(key, &separate[1], &inputs[1]), (value, &separate[2], &inputs[2])] {
        let rows = shared.chunks(W).zip(separate.values::<f32>().chunks(W)).zip(past.values::<f32>().chunks(W));
        for (index, ((shared, separate), past)) in rows.enumerate() {
            let used = index % 7 <= [6, 2][index / 7 / KV];
            assert_eq!(shared, if used { separate } else { past });
        }
    }
}

#[test]
fn what_is_not_supported_is_declined() {
    let reason = |inputs: &[Option<Value>], attrs| run(inputs, attrs).unwrap_err().to_string();
    let plain = || inputs(1, 7, [6, 2], 7);
    assert!(reason(&plain(), vec![("num_heads", Attr::Int(4))]).contains("kv_num_heads"));
    for name in ["qk_output", "sliding_window_cache"] {
        assert!(reason(&plain(), attrs(&[(name, Attr::Int(1))])).contains(name));
    }
    assert!(reason(&plain(), attrs(&[("do_rotary", Attr::Int(1))])).contains("cosines"));
    let window = [("causal", Attr::Int(0)), ("local_window_size", Attr::Int(3))];
    assert!(reason(&plain(), attrs(&window)).contains("local window"));
    assert!(reason(&plain(), attrs(&[("k_quant_type", Attr::Str("PER_TENSOR".into()))])).contains("k_quant_type"));
    let mut half = plain();
    half[4] = None;
    assert!(reason(&half, attrs(&[])).contains("only one"));
}

#[test]
fn what_does_not_fit_is_named() {
    let reason = |inputs: &[Option<Value>], attrs| run(inputs, attrs).unwrap_err().to_string();
    for (last, expected) in [([7, 2], "a last position of 7"), ([6, -1], "a last position of -1")] {
        assert!(reason(&inputs(1, 7, last, 7), attrs(&[])).contains(expected));
    }
    assert!(reason(&inputs(3, 2, [6, 6], 7), attrs(&[])).contains("4 positions are past, the cache holds 2"));
    assert!(reason(&inputs(3, 7, [2, 2], 1), attrs(&[])).contains("total_sequence_length"));
    let mut other = inputs(1, 7, [6, 2], 7);
    other[3] = Some(value(&[B, KV + 1, 7, W], 2));
    assert!(reason(&other, attrs(&[])).contains("a past of shape"));
    let mut other = inputs(1, 7, [6, 2], 7);
    other[5] = Some(Value::new(&[1], &[6i32]));
    assert!(reason(&other, attrs(&[])).contains("one element for each sequence"));
    let rotary = ("do_rotary", Attr::Int(1));
    let mut short = inputs(1, 7, [6, 2], 7);
    short.extend([Some(value(&[6, 2], 4)), Some(value(&[6, 2], 5))]);
    assert!(reason(&short, attrs(&[rotary])).contains("position 6 is not in the 6 rows"));
}
