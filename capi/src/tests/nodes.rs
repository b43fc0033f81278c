//! Fused nodes and registered kernels on the fake host.

use std::ffi::CStr;
use std::ptr;

use ep::CompiledGroup;
use ep::ir::{Dim, GraphBuilder, NodeSpec};
use ort_sys::OrtErrorCode;

use super::host::{LOGGER, base, set_options, take_kernels, take_status};
use super::{assert_internal_error, create_ep, create_factory, panicking, release};
use crate::compute::Runner;
use crate::fused::NodeCompute;
use crate::host::Host;
use crate::kernel::Kernel;
use crate::log::Logger;

/// y = Identity(x)
fn identity_group() -> CompiledGroup {
    let mut builder = GraphBuilder::new("identity");
    let x = builder.value("x", Some(ep::DType::F32), Some(vec![Dim::Known(2)]));
    let y = builder.value("y", Some(ep::DType::F32), Some(vec![Dim::Known(2)]));
    builder.input(x);
    builder.output(y);
    builder.node(NodeSpec {
        name: "identity".into(),
        domain: String::new(),
        op_type: "Identity".into(),
        since_version: 16,
        inputs: vec![Some(x)],
        outputs: vec![Some(y)],
        attrs: Vec::new(),
        origin: 0,
    });
    let provider = ep::Provider::new(ep::Options::parse([("threads", "1")]).unwrap()).unwrap();
    provider.compile(&builder.finish().unwrap()).unwrap()
}

/// The fake host of this version with its logger, and a runner of the group above.
fn runner(version: &'static CStr) -> (Host, Logger, Runner) {
    // SAFETY: the base is the fake host's, the logger one that it takes.
    let (host, logger) = unsafe {
        let host = Host::negotiate(&base(version)).ok().unwrap();
        (host, Logger::new(host, LOGGER))
    };
    (host, logger, Runner::new(identity_group(), &[Some("x")], &[Some("y")]).unwrap())
}

#[test]
fn panics_in_node_callbacks_become_statuses() {
    let (host, logger, runner) = runner(c"1.23.2");
    let node = NodeCompute::into_raw(NodeCompute::around(host, logger, runner));
    let mut state = ptr::null_mut();
    // SAFETY: a live node; no argument is read before the panic.
    unsafe {
        let callbacks = &*node;
        assert_internal_error(panicking(|| (callbacks.CreateState)(node, ptr::null_mut(), &mut state)));
        assert!(state.is_null());
        assert_eq!(take_status((callbacks.CreateState)(node, ptr::null_mut(), &mut state)), None);
        assert_internal_error(panicking(|| (callbacks.Compute)(node, state, ptr::null_mut())));
        (callbacks.ReleaseState)(node, state);
        NodeCompute::release(node);
    }
}

#[test]
fn panics_in_kernel_callbacks_become_statuses() {
    let (host, logger, runner) = runner(c"1.24.4");
    let kernel = Kernel::into_raw(host, logger, runner, vec![1]);
    let is_packed = |input| {
        let mut packed = true;
        // SAFETY: a live kernel and an out pointer; nothing else is looked at where there is no cache.
        let status = unsafe {
            ((*kernel).PrePackWeight)(kernel, ptr::null(), input, ptr::null_mut(), ptr::null_mut(), &mut packed)
        };
        take_status(status).map_or(Ok(packed), Err)
    };
    assert_eq!(is_packed(0), Ok(false), "not a constant");
    assert_eq!(is_packed(1), Ok(true));
    assert_eq!(is_packed(-1), Ok(false));
    assert!(panicking(|| is_packed(1)).unwrap_err().1.contains("injected panic"));
    // SAFETY: a live kernel, released once; no argument is read before the panic.
    unsafe {
        assert_internal_error(panicking(|| ((*kernel).Compute)(kernel, ptr::null_mut())));
        ((*kernel).Release)(kernel);
    }
}

#[test]
fn hosts_from_1_24_on_get_kernels_of_all_operators() {
    let operators = ep::ops::rows().filter(|row| row.domain != ep::ops::FUSED).count();
    for (version, kernels) in [(c"1.23.2", 0), (c"1.24.4", operators)] {
        let factory = create_factory(version).unwrap();
        set_options(&[]);
        let ep = create_ep(factory).unwrap();
        let registered = take_kernels();
        assert_eq!(registered.len(), kernels);
        // SAFETY: all are live; no argument is read before the panic.
        unsafe {
            let mut kernel = ptr::null_mut();
            for (create, state) in registered.into_iter().take(1) {
                assert_internal_error(panicking(|| create(state, ptr::null(), &mut kernel)));
            }
            let mut registry = ptr::null();
            assert_internal_error(panicking(|| ((*ep).GetKernelRegistry)(ep, &mut registry)));
            assert_eq!(take_status(((*ep).GetKernelRegistry)(ep, &mut registry)), None);
            assert_eq!(registry.is_null(), kernels == 0);
            ((*factory).ReleaseEp)(factory, ep);
        }
        release(factory);
    }
}

#[test]
fn kernels_are_refused_where_there_are_none() {
    let factory = create_factory(c"1.23.2").unwrap();
    set_options(&[("ep.spacemit.mode", "kernels")]);
    let (code, message) = create_ep(factory).unwrap_err();
    assert_eq!(code, OrtErrorCode::ORT_INVALID_ARGUMENT);
    assert!(message.contains("'mode'") && message.contains("1.24"), "{message}");
    release(factory);
}
