//! A RISC-V processor without the V extension: the plugin loads, declines every node and says why.

use e2e::onnx::{self, FLOAT, GraphProto, node, value};
use e2e::{builder, run, scratch};

fn square() -> Vec<u8> {
    onnx::model(GraphProto {
        name: "square".into(),
        input: vec![value("x", FLOAT, "n,3")],
        output: vec![value("y", FLOAT, "n,3")],
        node: vec![node("Mul", &["x", "x"], &["y"])],
        ..GraphProto::default()
    })
}

#[test]
#[ignore = "needs a processor without vectors; `cargo xtask riscv test plugin-scalar` has one"]
fn every_node_is_declined_with_the_reason() {
    let folder = scratch("no-vectors");
    let report = folder.join("report.json");
    let options = [("claim", "all"), ("report", report.to_str().unwrap())];
    let mut session = builder(&options).unwrap().commit_from_memory(&square()).unwrap();
    let y = run(&mut session, &[("x", &[1, 3], &[1.5, -2.0, 4.0])]).unwrap();
    assert_eq!(y[0].1, [2.25, 4.0, 16.0], "by the CPU provider");
    let report = std::fs::read_to_string(report).unwrap();
    assert!(report.contains("\"claims\": []") && report.contains("no vector extension"), "{report}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
#[ignore = "needs a processor without vectors; `cargo xtask riscv test plugin-scalar` has one"]
fn a_target_that_is_asked_for_runs_on_scalar_code() {
    let options = [("claim", "all"), ("target", "scalar")];
    let strict = builder(&options).unwrap().with_disable_cpu_fallback().unwrap();
    let mut session = { strict }.commit_from_memory(&square()).unwrap();
    let y = run(&mut session, &[("x", &[1, 3], &[1.5, -2.0, 4.0])]).unwrap();
    assert_eq!(y[0].1, [2.25, 4.0, 16.0]);
}
