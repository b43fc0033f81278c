use half::f16;

use crate::ir::Attr;
use crate::testing::{Model, Value};

const B: usize = 2;
const H: usize = 4;
const S: usize = 3;
const T: usize = 5;
const D: usize = 2;

fn wave(len: usize, seed: usize) -> Vec<f32> {
    (0..len).map(|index| ((index * 37 + seed * 11) % 23) as f32 / 11.5 - 1.0).collect()
}

/// Dimensions and values of a `[b, n, s, d]` tensor in another order.
fn arrange(order: &str, dims: [usize; 4], data: &[f32]) -> Value {
    let [b, n, s, d] = dims;
    let perm = match order {
        "bsnh" => [0, 2, 1, 3],
        "bnsh" => [0, 1, 2, 3],
        _ => [0, 1, 3, 2],
    };
    let to = perm.map(|axis| dims[axis]);
    let strides = [n * s * d, s * d, d, 1];
    let index = |at: [usize; 4]| (0..4).map(|axis| at[axis] * strides[perm[axis]]).sum::<usize>();
    let mut values = Vec::new();
    for at in (0..b * n * s * d).map(|flat| {
        let (rest, z) = (flat / to[3], flat % to[3]);
        let (rest, y) = (rest / to[2], rest % to[2]);
        [rest / to[1], rest % to[1], y, z]
    }) {
        values.push(data[index(at)]);
    }
    Value::new(&to, &values)
}

struct Case {
    kv_heads: usize,
    scale: f64,
    bias: Box<dyn Fn(usize, usize, usize, usize) -> f64>,
    zero: bool,
}

impl Case {
    fn data(&self) -> [Vec<f32>; 3] {
        let kv = B * self.kv_heads * T * D;
        [wave(B * H * S * D, 1), wave(kv, 2), wave(kv, 3)]
    }

    /// `[b, n, s, d]` result in f64.
    fn expected(&self) -> Vec<f64> {
        let [q, k, v] = self.data();
        let mut out = Vec::new();
        for (b, h, s) in (0..B * H * S).map(|row| (row / (H * S), row / S % H, row % S)) {
            let kv = b * self.kv_heads + h * self.kv_heads / H;
            let score = |t: usize| {
                let dot: f64 = (0..D)
                    .map(|d| f64::from(q[((b * H + h) * S + s) * D + d]) * f64::from(k[(kv * T + t) * D + d]))
                    .sum();
                (dot * self.scale + (self.bias)(b, h, s, t)).exp()
            };
            let weights: Vec<f64> = (0..T).map(score).collect();
            let sum: f64 = weights.iter().sum();
            for d in 0..D {
                let dot: f64 = (0..T).map(|t| weights[t] * f64::from(v[(kv * T + t) * D + d])).sum();
                out.push(if sum == 0.0 && self.zero { 0.0 } else { dot / sum });
            }
        }
        out
    }

    fn check(&self, orders: [&'static str; 4], mut attrs: Vec<(&'static str, Attr<'static>)>, masks: &[Value]) {
        let [q, k, v] = self.data();
        let kv = [B, self.kv_heads, T, D];
        let mut inputs =
            vec![arrange(orders[0], [B, H, S, D], &q), arrange(orders[1], kv, &k), arrange(orders[2], kv, &v)];
        inputs.extend_from_slice(masks);
        let names = ["q_order", "k_order", "v_order", "out_order"];
        attrs.extend(names.into_iter().zip(orders).map(|(name, order)| (name, Attr::Str(order.into()))));
        attrs.push(("scale", Attr::Float(self.scale as f32)));
        let y = &run(&inputs, attrs)[0];
        let expected: Vec<f32> = self.expected().into_iter().map(|x| x as f32).collect();
        let expected = arrange(orders[3], [B, H, S, D], &expected);
        assert_eq!(y.dims, expected.dims);
        for (y, expected) in y.values::<f32>().iter().zip(expected.values::<f32>()) {
            assert!((y - expected).abs() < 1e-6 || (y.is_nan() && expected.is_nan()), "{y} instead of {expected}");
        }
    }
}

fn run(inputs: &[Value], attrs: Vec<(&'static str, Attr<'static>)>) -> Vec<Value> {
    let names = ["q", "k", "v", "mask", "bias"];
    let mut model = Model::new();
    for (name, value) in names.iter().zip(inputs) {
        let shape = value.dims.iter().map(|&dim| crate::ir::Dim::Known(dim)).collect();
        model.input_of(name, value.dtype, shape);
    }
    model.domain("spacemit").version(1);
    model.node("Sdpa", &names[..inputs.len()], &["y"], attrs).output("y");
    model.run(inputs).unwrap()
}

fn no_bias(kv_heads: usize, scale: f64) -> Case {
    Case { kv_heads, scale, bias: Box::new(|_, _, _, _| 0.0), zero: false }
}

#[test]
fn reads_and_writes_every_order() {
    for kv_heads in [4, 2, 1] {
        for order in ["bsnh", "bnsh", "bnhs"] {
            for out in ["bsnh", "bnsh"] {
                no_bias(kv_heads, 0.7).check([order, "bnhs", order, out], vec![], &[]);
                no_bias(kv_heads, 1.0).check(["bnsh", order, "bsnh", out], vec![], &[]);
            }
        }
    }
}

#[test]
fn masks_broadcast_and_add() {
    let mask = wave(B * T, 5);
    let full = wave(H * S * T, 6);
    let (m, f) = (mask.clone(), full.clone());
    let bias =
        move |b: usize, h: usize, s: usize, t: usize| f64::from(m[b * T + t]) + f64::from(f[(h * S + s) * T + t]);
    let case = Case { bias: Box::new(bias), ..no_bias(4, 0.5) };
    let masks = [Value::new(&[B, 1, 1, T], &mask), Value::new(&[H, S, T], &full)];
    case.check(["bsnh"; 4], vec![], &masks);
}

#[test]
fn rows_without_visible_keys_are_nan_unless_zeroed() {
    let keep: Vec<u8> = (0..S * T).map(|index| u8::from(index >= T && index % 3 != 0)).collect();
    let hidden = keep.clone();
    let bias = move |_, _, s: usize, t: usize| if hidden[s * T + t] == 1 { 0.0 } else { f64::NEG_INFINITY };
    for zero in [false, true] {
        let case = Case { bias: Box::new(bias.clone()), zero, ..no_bias(4, 0.5) };
        let attrs = vec![("nan_rows_to_zero", Attr::Int(zero.into()))];
        case.check(["bnsh"; 4], attrs, &[Value::new(&[S, T], &keep).into_bool()]);
    }
}

#[test]
fn causal_hides_later_keys() {
    let bias = |_, _, s, t| if t > s { f64::NEG_INFINITY } else { 0.0 };
    let case = Case { bias: Box::new(bias), ..no_bias(2, 0.5) };
    case.check(["bsnh"; 4], vec![("is_causal", Attr::Int(1))], &[]);
}

#[test]
fn halves_are_computed_in_f32() {
    let ones = [f16::ONE; 8];
    let values: Vec<f16> = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.5].map(f16::from_f32).to_vec();
    let inputs =
        [Value::new(&[1, 1, 4, 2], &ones), Value::new(&[1, 1, 4, 2], &ones), Value::new(&[1, 1, 4, 2], &values)];
    let orders = ["q_order", "k_order", "v_order", "out_order"].map(|name| (name, Attr::Str("bnsh".into())));
    let y = run(&inputs, orders.to_vec());
    assert_eq!(y[0].values::<f16>()[..2], [4.0, 5.125].map(f16::from_f32));
}

#[test]
fn shapes_that_do_not_fit_are_an_error() {
    let mut model = Model::new();
    model.input::<f32>("q", &[1, 1, 2, 4]).input::<f32>("k", &[1, 1, 2, 3]).input::<f32>("v", &[1, 1, 2, 3]);
    model.domain("spacemit").version(1).node("Sdpa", &["q", "k", "v"], &["y"], vec![]).output("y");
    let inputs = [
        Value::new(&[1, 1, 2, 4], &[0.0f32; 8]),
        Value::new(&[1, 1, 2, 3], &[0.0f32; 6]),
        Value::new(&[1, 1, 2, 3], &[0.0f32; 6]),
    ];
    assert!(model.run(&inputs).unwrap_err().to_string().contains("attention of q"));
}
