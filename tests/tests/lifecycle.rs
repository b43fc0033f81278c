//! Registering, unregistering, and what outlives what. One test: the registrations of a process are shared.

use std::ffi::CString;

use e2e::onnx::{self, FLOAT, GraphProto, node, value};
use e2e::{EP_NAME, builder, environment, library, run, session};
use ort::AsPointer;

fn square() -> Vec<u8> {
    onnx::model(GraphProto {
        name: "square".into(),
        input: vec![value("x", FLOAT, "n")],
        output: vec![value("y", FLOAT, "n")],
        node: vec![node("Mul", &["x", "x"], &["y"])],
        ..GraphProto::default()
    })
}

fn devices() -> usize {
    environment().devices().filter(|device| device.ep().is_ok_and(|name| name == EP_NAME)).count()
}

fn unregister(name: &str) -> ort::Result<()> {
    let name = CString::new(name).unwrap();
    // SAFETY: the environment is live; ONNX Runtime guards its registrations with a lock.
    unsafe {
        let api = ort::api();
        let status = (api.UnregisterExecutionProviderLibrary)(environment().ptr().cast_mut(), name.as_ptr());
        ort::Error::result_from_status(status)
    }
}

#[test]
fn registrations_and_sessions_in_any_order() {
    assert_eq!(devices(), 1);
    let error = environment().register_ep_library(EP_NAME, library()).unwrap_err();
    assert!(error.to_string().contains("already registered"), "{error}");
    assert_eq!(devices(), 1);

    environment().register_ep_library("second", library()).unwrap();
    assert_eq!(devices(), 2);
    let mut live = session(&square()).unwrap();

    // A creation that fails leaves nothing behind that the next one could stumble over.
    assert!(builder(&[("threads", "none")]).unwrap().commit_from_memory(&square()).is_err());
    assert!(builder(&[]).unwrap().commit_from_memory(b"no model").is_err());

    unregister("second").unwrap();
    assert_eq!(devices(), 1);
    unregister(EP_NAME).unwrap();
    assert_eq!(devices(), 0);
    assert!(unregister(EP_NAME).is_err());

    let output = {
        let x = ort::value::Tensor::from_array(([2_usize], vec![3.0_f32, -4.0])).unwrap();
        live.run(ort::inputs!["x" => x]).unwrap().remove("y").unwrap()
    };
    drop(live);
    assert_eq!(output.try_extract_tensor::<f32>().unwrap().1, [9.0, 16.0], "values outlive everything");
    drop(output);

    for round in 0..20 {
        environment().register_ep_library(EP_NAME, library()).unwrap();
        let mut session = session(&square()).unwrap();
        assert_eq!(run(&mut session, &[("x", &[1], &[round as f32])]).unwrap()[0].1, [(round * round) as f32]);
        if round % 2 == 0 {
            unregister(EP_NAME).unwrap();
            assert_eq!(run(&mut session, &[("x", &[1], &[2.0])]).unwrap()[0].1, [4.0]);
        } else {
            drop(session);
            unregister(EP_NAME).unwrap();
        }
    }
}
