//! Control flow: bodies are graphs of their own, and read values of the graph around them.

use e2e::onnx::{self, BOOL, FLOAT, GraphProto, floats, node, value};
use e2e::{builder, session};
use ort::value::Tensor;

/// s = x * x; y = if c { s * k } else { (s * s) * x }. Only the bodies read s.
fn conditional() -> Vec<u8> {
    let then_branch = GraphProto {
        name: "then".into(),
        output: vec![value("t", FLOAT, "n")],
        initializer: vec![floats("k", &[1], &[10.0])],
        node: vec![node("Mul", &["s", "k"], &["t"])],
        ..GraphProto::default()
    };
    let else_branch = GraphProto {
        name: "else".into(),
        output: vec![value("e", FLOAT, "n")],
        node: vec![node("Mul", &["s", "s"], &["q"]), node("Mul", &["q", "x"], &["e"])],
        ..GraphProto::default()
    };
    let mut choice = node("If", &["c"], &["y"]);
    choice.attribute = vec![onnx::body("then_branch", then_branch), onnx::body("else_branch", else_branch)];
    onnx::model(GraphProto {
        name: "conditional".into(),
        input: vec![value("x", FLOAT, "n"), value("c", BOOL, "1")],
        output: vec![value("y", FLOAT, "n")],
        node: vec![node("Mul", &["x", "x"], &["s"]), choice],
        ..GraphProto::default()
    })
}

#[test]
fn bodies_run_on_the_provider_and_read_outer_values() {
    let mut session = builder(&[("claim", "all")]).unwrap().commit_from_memory(&conditional()).unwrap();
    for (condition, expected) in [(true, [40.0, 90.0]), (false, [32.0, -243.0])] {
        let x = Tensor::from_array(([2_usize], vec![2.0_f32, -3.0])).unwrap();
        let c = Tensor::from_array(([1_usize], vec![condition])).unwrap();
        let outputs = session.run(ort::inputs!["x" => x, "c" => c]).unwrap();
        assert_eq!(outputs[0].try_extract_tensor::<f32>().unwrap().1, expected);
    }
}

/// On ONNX Runtime 1.24 and newer; 1.23 can fuse nodes of the main graph only.
#[test]
fn only_the_control_flow_node_is_left_to_the_cpu() {
    let directory = e2e::scratch("subgraphs");
    let report = directory.join("report.json");
    let options = [("claim", "all"), ("report", report.to_str().unwrap())];
    builder(&options).unwrap().commit_from_memory(&conditional()).unwrap();
    let report = std::fs::read_to_string(report).unwrap();
    assert!(report.contains("Mul_t") && report.contains("Mul_q"), "{report}");
    assert!(session(&conditional()).is_err(), "a strict session fails, for If is not ours");
}
