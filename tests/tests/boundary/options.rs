//! Options, strictness and what a user is told.

use e2e::onnx::{self, FLOAT, GraphProto, node, value};
use e2e::{builder, environment, run, session};
use ort::session::WorkloadType;

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
fn unknown_options_and_bad_values_fail_creation_and_are_named() {
    for (key, wrong) in [("intra_thread_numm", "2"), ("threads", "8;x"), ("threads", "-1"), ("target", "k2")] {
        let error = builder(&[(key, wrong)]).unwrap().commit_from_memory(&square()).unwrap_err();
        assert!(error.to_string().contains(&format!("'{key}'")), "{error}");
    }
}

#[test]
fn session_config_keys_reach_the_provider() {
    let error = builder(&[]).unwrap().with_config_entry("ep.spacemit.thredas", "1").unwrap();
    let error = { error }.commit_from_memory(&square()).unwrap_err();
    assert!(error.to_string().contains("'thredas'"), "{error}");
}

#[test]
fn dynamic_options_are_unknown() {
    let mut session = session(&square()).unwrap();
    let error = session.set_workload_type(WorkloadType::Efficient).unwrap_err();
    assert!(error.to_string().contains("ep.dynamic.workload_type"), "{error}");
}

const DISABLED: [(&str, &str); 2] = [("disable_ops", "Mul"), ("disable_nodes", "Mul_y")];

#[test]
fn strict_sessions_fail_when_a_node_is_declined() {
    for option in DISABLED {
        let strict = builder(&[option]).unwrap().with_disable_cpu_fallback().unwrap();
        let error = { strict }.commit_from_memory(&square()).unwrap_err();
        assert!(error.to_string().contains("fallback"), "{error}");
    }
}

#[test]
fn disabled_nodes_give_the_same_answer() {
    let x: &[(&str, &[i64], &[f32])] = &[("x", &[1, 3], &[1.5, -2.0, f32::INFINITY])];
    let expected = run(&mut session(&square()).unwrap(), x).unwrap();
    for option in DISABLED {
        let mut session = builder(&[option]).unwrap().commit_from_memory(&square()).unwrap();
        assert_eq!(run(&mut session, x).unwrap(), expected, "{option:?}");
    }
}

#[test]
fn a_missing_library_is_an_error_with_its_path() {
    let error = environment().register_ep_library("missing", "/nowhere/libmissing.so").unwrap_err();
    assert!(error.to_string().contains("/nowhere/libmissing.so"), "{error}");
}

#[test]
fn the_device_is_the_cpu_of_vendor_spacemit() {
    let ours = environment().devices().filter(|device| device.ep().unwrap() == "Spacemit");
    let ours: Vec<_> = ours.collect();
    assert_eq!(ours.len(), 1);
    assert_eq!(ours[0].ep_vendor().unwrap(), "SpacemiT");
    assert_eq!(ours[0].hardware_device().ty(), ort::memory::DeviceType::CPU);
}
