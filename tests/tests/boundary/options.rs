//! Options, strictness and what a user is told.

use e2e::onnx::{self, FLOAT, GraphProto, node, value};
use e2e::{builder, environment, session};
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

#[test]
fn strict_sessions_fail_when_a_node_is_declined() {
    let strict = builder(&[("disable_ops", "Mul")]).unwrap().with_disable_cpu_fallback().unwrap();
    let error = { strict }.commit_from_memory(&square()).unwrap_err();
    assert!(error.to_string().contains("fallback"), "{error}");
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
