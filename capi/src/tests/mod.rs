//! The callbacks on a fake host: version negotiation, options, and panics in every callback.

mod host;
mod nodes;
mod profiler;

use std::cell::Cell;
use std::ffi::CStr;
use std::ptr;

use ort_sys::{OrtErrorCode, OrtStatusPtr};

use crate::sys::{OrtEp, OrtEpFactory};
use crate::{CreateEpFactories, ReleaseEpFactory};
use host::{LOGGER, base, set_options, take_log, take_status};

thread_local! {
    static PANIC: Cell<bool> = const { Cell::new(false) };
}

/// The guard calls this inside every callback.
pub(crate) fn panic_if_asked() {
    assert!(!PANIC.replace(false), "injected panic");
}

/// Calls `callback` so that its body panics.
fn panicking<T>(callback: impl FnOnce() -> T) -> T {
    PANIC.set(true);
    let result = callback();
    assert!(!PANIC.get(), "the callback did not run under the guard");
    result
}

fn assert_internal_error(status: OrtStatusPtr) {
    let (code, message) = take_status(status).expect("a panic must become a status");
    assert_eq!(code, OrtErrorCode::ORT_FAIL);
    assert!(message.contains("injected panic"), "{message}");
}

fn create_factory(version: &'static CStr) -> Result<*mut OrtEpFactory, Option<(OrtErrorCode, String)>> {
    let (base, mut factory, mut count) = (base(version), ptr::null_mut(), 7);
    // SAFETY: the arguments are what the fake host offers.
    let status = unsafe { CreateEpFactories(c"Spacemit".as_ptr(), &base, LOGGER, &mut factory, 1, &mut count) };
    let failure = take_status(status);
    assert_eq!(count, usize::from(!factory.is_null()));
    if factory.is_null() { Err(failure) } else { Ok(factory) }
}

fn create_ep(factory: *mut OrtEpFactory) -> Result<*mut OrtEp, (OrtErrorCode, String)> {
    let mut ep = ptr::null_mut();
    // SAFETY: a live factory; the fake host ignores the session options.
    let status = unsafe { ((*factory).CreateEp)(factory, ptr::null(), ptr::null(), 0, ptr::null(), LOGGER, &mut ep) };
    take_status(status).map_or(Ok(ep), Err)
}

fn release(factory: *mut OrtEpFactory) {
    // SAFETY: from `create_factory`, released once.
    let status = unsafe { ReleaseEpFactory(factory) };
    assert_eq!(take_status(status), None);
}

#[test]
fn hosts_from_1_23_on_get_a_factory() {
    for version in [c"1.23.0", c"1.23.2", c"1.24.4", c"1.28.0", c"1.32.0", c"1.99.0"] {
        let factory = create_factory(version).unwrap();
        // SAFETY: a live factory.
        unsafe {
            assert_eq!(CStr::from_ptr(((*factory).GetName)(factory)), c"Spacemit");
            assert_eq!(CStr::from_ptr(((*factory).GetVendor)(factory)), c"SpacemiT");
            assert_eq!(((*factory).GetVendorId)(factory), 0x710);
            let version = CStr::from_ptr(((*factory).GetVersion)(factory));
            assert_eq!(version.to_str(), Ok(env!("CARGO_PKG_VERSION")));
        }
        release(factory);
    }
}

#[test]
fn older_hosts_get_a_status_that_says_why() {
    for version in [c"1.22.1", c"1.17.0", c"1.2.0"] {
        let (code, message) = create_factory(version).unwrap_err().expect("a status");
        assert_eq!(code, OrtErrorCode::ORT_NOT_IMPLEMENTED);
        assert!(message.contains("needs ONNX Runtime 1.23"), "{message}");
        assert!(message.contains(version.to_str().unwrap()), "{message}");
    }
}

#[test]
fn another_major_gets_no_factory() {
    assert_eq!(create_factory(c"2.0.0").unwrap_err(), None);
    assert_eq!(create_factory(c"nonsense").unwrap_err(), None);
}

#[test]
fn options_of_other_providers_are_not_ours() {
    let factory = create_factory(c"1.23.2").unwrap();
    set_options(&[("ep.other.threads", "x"), ("session.disable_cpu_ep_fallback", "1"), ("ep.spacemitx.a", "b")]);
    let ep = create_ep(factory).unwrap();
    // SAFETY: both are live.
    unsafe { ((*factory).ReleaseEp)(factory, ep) };
    release(factory);
}

#[test]
fn unknown_options_fail_and_are_named() {
    let factory = create_factory(c"1.23.2").unwrap();
    set_options(&[("ep.spacemit.thredas", "1")]);
    let (code, message) = create_ep(factory).unwrap_err();
    assert_eq!(code, OrtErrorCode::ORT_INVALID_ARGUMENT);
    assert!(message.contains("thredas"), "{message}");
    release(factory);
}

#[test]
fn compiled_models_are_refused() {
    let factory = create_factory(c"1.23.2").unwrap();
    set_options(&[("ep.context_enable", "1")]);
    let (code, message) = create_ep(factory).unwrap_err();
    assert_eq!(code, OrtErrorCode::ORT_NOT_IMPLEMENTED);
    assert!(message.contains("ep.context_enable"), "{message}");
    release(factory);
}

#[test]
fn a_provider_outlives_the_registration() {
    let factory = create_factory(c"1.24.4").unwrap();
    set_options(&[]);
    let ep = create_ep(factory).unwrap();
    release(factory);
    // SAFETY: the provider keeps its factory alive.
    unsafe {
        assert_eq!(CStr::from_ptr(((*ep).GetName)(ep)), c"Spacemit");
        ((*factory).ReleaseEp)(factory, ep);
    }
}

#[test]
fn panics_in_factory_callbacks_become_statuses() {
    let (api, mut made, mut count) = (base(c"1.23.2"), ptr::null_mut(), 0);
    // SAFETY: as in `create_factory`.
    assert_internal_error(panicking(|| unsafe {
        CreateEpFactories(c"Spacemit".as_ptr(), &api, LOGGER, &mut made, 1, &mut count)
    }));
    assert!(made.is_null());

    let factory = create_factory(c"1.23.2").unwrap();
    // SAFETY: a live factory; no argument is read before the panic.
    unsafe {
        let callbacks = &*factory;
        assert_internal_error(panicking(|| {
            (callbacks.GetSupportedDevices)(factory, ptr::null(), 0, ptr::null_mut(), 0, ptr::null_mut())
        }));
        assert_internal_error(panicking(|| {
            (callbacks.CreateEp)(factory, ptr::null(), ptr::null(), 0, ptr::null(), LOGGER, ptr::null_mut())
        }));
        assert_internal_error(panicking(|| {
            (callbacks.ValidateCompiledModelCompatibilityInfo)(factory, ptr::null(), 0, ptr::null(), ptr::null_mut())
        }));
        assert_internal_error(panicking(|| {
            (callbacks.CreateAllocator)(factory, ptr::null(), ptr::null(), ptr::null_mut())
        }));
        assert_internal_error(panicking(|| (callbacks.CreateDataTransfer)(factory, ptr::null_mut())));
        assert_internal_error(panicking(|| {
            (callbacks.CreateSyncStreamForDevice)(factory, ptr::null(), ptr::null(), ptr::null_mut())
        }));
    }
    release(factory);
}

#[test]
fn panics_in_provider_callbacks_become_statuses() {
    let factory = create_factory(c"1.23.2").unwrap();
    set_options(&[]);
    let ep = create_ep(factory).unwrap();
    // SAFETY: a live provider; no argument is read before the panic.
    unsafe {
        let callbacks = &*ep;
        assert_internal_error(panicking(|| (callbacks.GetCapability)(ep, ptr::null(), ptr::null_mut())));
        assert_internal_error(panicking(|| {
            (callbacks.Compile)(ep, ptr::null_mut(), ptr::null_mut(), 1, ptr::null_mut(), ptr::null_mut())
        }));
        assert_internal_error(panicking(|| (callbacks.SetDynamicOptions)(ep, ptr::null(), ptr::null(), 1)));
        take_log();
        panicking(|| (callbacks.ReleaseNodeComputeInfos)(ep, ptr::null_mut(), 1));
        let log = take_log();
        assert!(log.iter().any(|line| line.contains("internal error: injected panic")), "{log:?}");
        assert!(log.iter().any(|line| line.contains("src/tests/mod.rs")), "the hook logs the place: {log:?}");

        panicking(|| ((*factory).ReleaseEp)(factory, ep));
        ((*factory).ReleaseEp)(factory, ep);
    }
    release(factory);
}

#[test]
fn events_of_all_crates_reach_the_logger() {
    let factory = create_factory(c"1.23.2").unwrap();
    take_log();
    tracing::info!(answer = 42, "hello");
    tracing::debug!("below the logger's level");
    assert_eq!(take_log(), ["hello answer=42"]);
    release(factory);
}
