//! Models that are broken: an error, never a crash.

use e2e::builder;
use e2e::onnx::{self, FLOAT, GraphProto, floats, node, value};

fn good() -> Vec<u8> {
    onnx::model(GraphProto {
        name: "good".into(),
        input: vec![value("x", FLOAT, "n,4")],
        output: vec![value("y", FLOAT, "n,4")],
        initializer: vec![floats("w", &[4, 4], &[0.5; 16])],
        node: vec![node("MatMul", &["x", "w"], &["m"]), node("Mul", &["m", "m"], &["y"])],
        ..GraphProto::default()
    })
}

fn load(model: &[u8]) -> ort::Result<()> {
    builder(&[("claim", "all")])?.commit_from_memory(model).map(drop)
}

#[test]
fn every_truncation_is_handled() {
    let model = good();
    load(&model).unwrap();
    for length in 0..model.len() {
        // A prefix may happen to be a model of its own; what counts is that it is an answer.
        let _ = load(&model[..length]);
    }
    assert!(load(&model[..model.len() / 2]).is_err());
}

#[test]
fn every_flipped_byte_is_handled() {
    let model = good();
    for position in 0..model.len() {
        let mut broken = model.clone();
        broken[position] ^= 0x15;
        let _ = load(&broken);
    }
}

#[test]
fn an_initializer_that_claims_gigabytes_is_an_error() {
    let mut graph = GraphProto {
        name: "huge".into(),
        input: vec![value("x", FLOAT, "65536")],
        output: vec![value("y", FLOAT, "?,?")],
        initializer: vec![floats("w", &[65536, 65536], &[1.0])],
        node: vec![node("Mul", &["x", "w"], &["y"])],
        ..GraphProto::default()
    };
    assert!(load(&onnx::model(graph.clone())).is_err());
    graph.initializer = vec![floats("w", &[i64::MAX, 2], &[1.0])];
    assert!(load(&onnx::model(graph)).is_err());
}

#[test]
fn a_cycle_or_an_unknown_value_is_an_error() {
    for inputs in [["x", "y"], ["x", "nowhere"]] {
        let graph = GraphProto {
            name: "broken".into(),
            input: vec![value("x", FLOAT, "2")],
            output: vec![value("y", FLOAT, "2")],
            node: vec![node("Mul", &inputs, &["y"])],
            ..GraphProto::default()
        };
        assert!(load(&onnx::model(graph)).is_err());
    }
}
