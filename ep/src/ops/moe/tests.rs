use crate::ir::Attr;
use crate::testing::{Model, Value};

const HIDDEN: usize = 8;
const INNER: usize = 6;

fn attrs(top: i64, more: Vec<(&'static str, Attr<'static>)>) -> Vec<(&'static str, Attr<'static>)> {
    [("k", Attr::Int(top)), ("activation_type", Attr::Str("identity".into()))].into_iter().chain(more).collect()
}

/// Three experts; expert `e` doubles `e + 1` times, by way of the first components.
fn model(attrs: Vec<(&'static str, Attr<'static>)>) -> Model {
    let mut model = Model::new();
    let diagonal = |rows: usize, columns: usize, values: [f32; 3]| -> Vec<f32> {
        let element = |i: usize| if i / columns % rows == i % columns { values[i / columns / rows] } else { 0.0 };
        (0..3 * rows * columns).map(element).collect()
    };
    model.input::<f32>("x", &[1, 2, HIDDEN]).input::<f32>("logits", &[2, 3]);
    model.constant("up", &[3, INNER, HIDDEN], &diagonal(INNER, HIDDEN, [2.0, 4.0, 8.0]));
    model.constant("down", &[3, HIDDEN, INNER], &diagonal(HIDDEN, INNER, [1.0; 3]));
    model.constant("bias", &[3, HIDDEN], &[[0f32; HIDDEN], [1.0; HIDDEN], [2.0; HIDDEN]].concat());
    model.domain("com.microsoft").version(1);
    model.node("MoE", &["x", "logits", "up", "", "down", "bias"], &["y"], attrs).output("y");
    model
}

fn inputs() -> [Value; 2] {
    let logits = [0f32, 2f32.ln(), f32::NEG_INFINITY, 1.0, 2.0, 3.0];
    [Value::new(&[1, 2, HIDDEN], &[1f32; 2 * HIDDEN]), Value::new(&[2, 3], &logits)]
}

#[test]
fn tokens_get_the_weighted_sum_of_their_experts() {
    // Shares of the first token: 1/3, 2/3 and 0. Components beyond the inner width hold the bias alone.
    let y = model(attrs(2, vec![])).run(&inputs()).unwrap();
    assert_eq!(y[0].dims[..], [1, 2, HIDDEN]);
    let y = y[0].values::<f32>();
    assert!((y[0] - (2.0 / 3.0 + 10.0 / 3.0)).abs() < 1e-5 && (y[HIDDEN - 1] - 2.0 / 3.0).abs() < 1e-5, "{y:?}");
    // The best expert of the second token, whose share is left out of account.
    let y = model(attrs(1, vec![("normalize_routing_weights", Attr::Int(1))])).run(&inputs()).unwrap();
    let y = y[0].values::<f32>();
    assert!((y[HIDDEN] - 10.0).abs() < 1e-5 && (y[2 * HIDDEN - 1] - 2.0).abs() < 1e-5, "{y:?}");
}

#[test]
fn what_is_not_known_is_declined() {
    let declined = |top: i64, attr: (&'static str, Attr<'static>), reason: &str| {
        let error = model(attrs(top, vec![attr])).run(&inputs()).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    };
    declined(4, ("use_sparse_mixer", Attr::Int(0)), "4 experts");
    declined(0, ("use_sparse_mixer", Attr::Int(0)), "0 experts");
    declined(2, ("use_sparse_mixer", Attr::Int(1)), "sparse mixer");
    declined(2, ("swiglu_fusion", Attr::Int(1)), "swiglu_fusion 1");
    declined(2, ("swiglu_fusion", Attr::Int(2)), "swiglu_fusion 2");
}

#[test]
fn logits_of_other_tokens_are_an_error() {
    let [x, _] = inputs();
    let error = model(attrs(1, vec![])).run(&[x, Value::new(&[3, 3], &[0f32; 9])]).unwrap_err().to_string();
    assert!(error.contains("do not fit the experts"), "{error}");
}
