use half::f16;
use kernels::tensor::Element;

use crate::ir::Attr;
use crate::ops::MICROSOFT;
use crate::testing::{Model, Value};

pub(in crate::ops) const K: usize = 40;
const BLOCKS: usize = 2;
const SIZES: [(&str, usize); 3] = [("q", 6), ("k", 3), ("v", 3)];

pub(in crate::ops) fn wave(len: usize, seed: usize) -> Vec<f32> {
    (0..len).map(|i| ((i * 13 + seed * 7) % 29) as f32 / 16.0 - 0.9).collect()
}

/// The parts of a weight with `n` columns of 4 bits in blocks of 32, and a bias: `{name}_b`, `{name}_s`, `{name}_c`.
pub(in crate::ops) fn weight<T: Element>(model: &mut Model, name: &str, n: usize, convert: fn(f32) -> T) {
    let floats = |len, seed| -> Vec<T> { wave(len, seed).into_iter().map(convert).collect() };
    let codes: Vec<u8> = (0..n * BLOCKS * 16).map(|i| (i * 37 + n) as u8).collect();
    model.constant(&format!("{name}_b"), &[n, BLOCKS, 16], &codes);
    model.constant(&format!("{name}_s"), &[n, BLOCKS], &floats(n * BLOCKS, n));
    model.constant(&format!("{name}_c"), &[n], &floats(n, n + 1));
}

pub(in crate::ops) fn attrs(columns: &[(&'static str, usize)]) -> Vec<(&'static str, Attr<'static>)> {
    let int = |value: usize| Attr::Int(value as i64);
    let mut attrs = vec![("K", int(K)), ("bits", int(4)), ("block_size", int(32)), ("accuracy_level", int(0))];
    attrs.extend(columns.iter().map(|&(name, value)| (name, int(value))));
    attrs
}

pub(in crate::ops) const EPSILON: (&str, Attr<'static>) = ("epsilon", Attr::Float(1e-3));

fn fused(skip: bool, outputs: &[&str]) -> Model {
    let mut model = Model::new();
    model.input::<f32>("a", &[2, 3, K]).input::<f32>("skip", &[2, 3, K]).constant("scale", &[K], &wave(K, 3));
    SIZES.iter().for_each(|(name, n)| weight(&mut model, name, *n, |x| x));
    let inputs =
        ["a", if skip { "skip" } else { "" }, "scale", "q_b", "q_s", "q_c", "k_b", "k_s", "", "v_b", "v_s", "v_c"];
    let attrs = attrs(&[("Nq", 6), ("Nkv", 3)]).into_iter().chain([EPSILON]).collect();
    model.domain(MICROSOFT).version(1).node("MatMulNBitsQkv", &inputs, outputs, attrs);
    outputs.iter().filter(|name| !name.is_empty()).for_each(|name| _ = model.output(name));
    model
}

/// The node taken apart, as its definition reads.
fn composed(skip: bool) -> Model {
    let mut model = Model::new();
    model.input::<f32>("a", &[2, 3, K]).input::<f32>("skip", &[2, 3, K]).constant("scale", &[K], &wave(K, 3));
    SIZES.iter().for_each(|(name, n)| weight(&mut model, name, *n, |x| x));
    model.domain(MICROSOFT).version(1);
    match skip {
        true => model.node(
            "SkipSimplifiedLayerNormalization",
            &["a", "skip", "scale"],
            &["normal", "", "", "sum"],
            vec![EPSILON],
        ),
        false => model.node("SimplifiedLayerNormalization", &["a", "scale"], &["normal"], vec![EPSILON]),
    };
    for (name, n) in SIZES {
        let [b, s, c] = ["b", "s", "c"].map(|part| format!("{name}_{part}"));
        let bias = if name == "k" { "" } else { &c };
        model.node("MatMulNBits", &["normal", &b, &s, "", "", bias], &[name], attrs(&[("N", n)])).output(name);
    }
    if skip {
        model.output("sum");
    }
    model
}

fn inputs() -> [Value; 2] {
    [1, 2].map(|seed| Value::new(&[2, 3, K], &wave(6 * K, seed)))
}

fn assert_near(actual: &[Value], expected: &[Value]) {
    assert_eq!(actual.len(), expected.len());
    for (actual, expected) in actual.iter().zip(expected) {
        assert_eq!(actual.dims, expected.dims);
        let close = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-4;
        assert!(actual.values::<f32>().iter().zip(expected.values::<f32>()).all(close), "{actual:?} {expected:?}");
    }
}

#[test]
fn the_node_is_the_normalisation_and_three_products() {
    let plain = fused(false, &["q", "k", "v"]).run(&inputs()).unwrap();
    assert_near(&plain, &composed(false).run(&inputs()).unwrap());
    let with_sum = fused(true, &["q", "k", "v", "sum"]).run(&inputs()).unwrap();
    assert_near(&with_sum, &composed(true).run(&inputs()).unwrap());
    let only_values = fused(true, &["q", "", "v"]).run(&inputs()).unwrap();
    assert_near(&only_values, &[with_sum[0].clone(), with_sum[2].clone()]);
}

#[test]
fn a_sum_without_a_skip_and_other_types_are_declined() {
    let error = fused(false, &["q", "k", "v", "sum"]).run(&inputs()).unwrap_err().to_string();
    assert!(error.contains("declined"), "{error}");
    let mut model = Model::new();
    model.input::<f32>("a", &[2, 3, K]).constant("scale", &[K], &wave(K, 3));
    SIZES.iter().for_each(|(name, n)| weight(&mut model, name, *n, f16::from_f32));
    let names = ["a", "", "scale", "q_b", "q_s", "", "k_b", "k_s", "", "v_b", "v_s"];
    model.domain(MICROSOFT).version(1).node("MatMulNBitsQkv", &names, &["q"], attrs(&[("Nq", 6), ("Nkv", 3)]));
    let error = model.output("q").run(&inputs()[..1]).unwrap_err().to_string();
    assert!(error.contains("declined"), "{error}");
}
