use crate::ir::Attr;
use crate::ops::MICROSOFT;
use crate::ops::nbits_qkv::tests::{EPSILON, K, attrs, wave, weight};
use crate::testing::{Model, Value};

const N: usize = 5;

fn model() -> Model {
    let mut model = Model::new();
    model.input::<f32>("a", &[3, K]).input::<f32>("skip", &[3, K]).constant("scale", &[K], &wave(K, 3));
    weight(&mut model, "g", N, |x| x);
    weight(&mut model, "u", N, |x| x / 2.0);
    model.domain(MICROSOFT).version(1);
    model
}

fn fused(before: [&str; 2], outputs: &[&str], activation: &str) -> Model {
    let mut model = model();
    let inputs = ["a", before[0], before[1], "g_b", "g_s", "g_c", "u_b", "u_s", "u_c"];
    let own = [EPSILON, ("activation", Attr::Str(activation.into()))];
    model.node("MatMulNBitsMlp", &inputs, outputs, attrs(&[("N", N)]).into_iter().chain(own).collect());
    outputs.iter().for_each(|name| _ = model.output(name));
    model
}

/// The node taken apart, as its definition reads.
fn composed(before: [&str; 2]) -> Model {
    let mut model = model();
    let a = match before {
        ["", ""] => "a",
        ["", scale] => {
            model.node("SimplifiedLayerNormalization", &["a", scale], &["normal"], vec![EPSILON]);
            "normal"
        }
        [skip, scale] => {
            let outputs = ["normal", "", "", "sum"];
            model.node("SkipSimplifiedLayerNormalization", &["a", skip, scale], &outputs, vec![EPSILON]);
            "normal"
        }
    };
    for name in ["g", "u"] {
        let [b, s, c] = ["b", "s", "c"].map(|part| format!("{name}_{part}"));
        model.node("MatMulNBits", &[a, &b, &s, "", "", &c], &[name], attrs(&[("N", N)]));
    }
    model.domain("").version(13).node("Sigmoid", &["g"], &["sigmoid"], vec![]);
    model.version(14).node("Mul", &["g", "sigmoid"], &["silu"], vec![]);
    model.node("Mul", &["silu", "u"], &["y"], vec![]).output("y");
    if !before[0].is_empty() {
        model.output("sum");
    }
    model
}

fn inputs() -> [Value; 2] {
    [1, 2].map(|seed| Value::new(&[3, K], &wave(3 * K, seed)))
}

#[test]
fn the_node_is_the_normalisation_two_products_and_a_gate() {
    for (before, outputs) in [(["", ""], &["y"][..]), (["", "scale"], &["y"]), (["skip", "scale"], &["y", "sum"])] {
        let actual = fused(before, outputs, "silu").run(&inputs()).unwrap();
        let expected = composed(before).run(&inputs()).unwrap();
        assert_eq!(actual.len(), expected.len());
        for (actual, expected) in actual.iter().zip(&expected) {
            assert_eq!(actual.dims, expected.dims);
            for (a, b) in actual.values::<f32>().iter().zip(expected.values::<f32>()) {
                assert!((a - b).abs() <= 1e-4 * b.abs().max(1.0), "{before:?}: {a} instead of {b}");
            }
        }
    }
}

#[test]
fn what_is_not_known_is_declined() {
    let declined = |model: Model, reason: &str| {
        let error = model.run(&inputs()).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    };
    declined(fused(["", "scale"], &["y"], "relu"), "activation 'relu'");
    declined(fused(["skip", ""], &["y"], "silu"), "input 2 is missing");
    declined(fused(["", "scale"], &["y", "sum"], "silu"), "sum");
}
