//! Registered kernels on the fake host.

use std::ptr;

use ort_sys::OrtErrorCode;

use super::host::{set_options, take_kernels, take_status};
use super::{assert_internal_error, create_ep, create_factory, panicking, release, runner};
use crate::kernel::Kernel;

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
