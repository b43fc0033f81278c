//! The plugin boundary: ONNX Runtime's C API on one side, the safe [`ep`] crate on the other.
//!
//! ONNX Runtime calls the two exported functions below when an application registers the library. Everything after
//! that goes through callback structs: [`factory`] (one per registration), [`provider`] and [`profiler`] (one per session),
//! [`fused`] (one per fused node) and [`kernel`] (one per node that runs by itself).

#![allow(non_snake_case, non_camel_case_types, reason = "names of ONNX Runtime's C API")]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod capability;
mod compute;
mod factory;
mod fused;
mod guard;
mod handle;
mod host;
mod import;
mod kernel;
mod log;
mod profiler;
mod provider;
mod registry;
mod status;
mod sys;
#[cfg(test)]
mod tests;

use std::ffi::c_char;

use ort_sys::{OrtApiBase, OrtLogger, OrtStatusPtr};

use crate::factory::Factory;
use crate::host::{Host, Refused};
use crate::log::Logger;
use crate::status::Error;
use crate::sys::OrtEpFactory;

/// Name of the execution provider, as applications select it.
pub const EP_NAME: &str = "Spacemit";

/// Entry point: makes the factory of this library.
///
/// Fails with a status on ONNX Runtime versions other than 1.23 and later 1.x. A host so foreign that it cannot even
/// make a status gets no factory.
///
/// # Safety
/// Called by ONNX Runtime, with the arguments that its `CreateEpApiFactoriesFn` describes.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn CreateEpFactories(
    _registration_name: *const c_char,
    api_base: *const OrtApiBase,
    default_logger: *const OrtLogger,
    factories: *mut *mut OrtEpFactory,
    max_factories: usize,
    num_factories: *mut usize,
) -> OrtStatusPtr {
    if !num_factories.is_null() {
        // SAFETY: an out pointer of the caller.
        unsafe { *num_factories = 0 };
    }
    // SAFETY: `api_base` is the host's, by the contract.
    let host = match unsafe { Host::negotiate(api_base) } {
        Ok(host) => host,
        Err(Refused(status)) => return status,
    };
    log::install();
    // SAFETY: the environment's logger outlives the registration, and the factory drops it at release.
    let logger = unsafe { Logger::new(host, default_logger) };
    guard::status(host, logger, || {
        if factories.is_null() || num_factories.is_null() || max_factories == 0 {
            return Err(Error::invalid_argument("Spacemit: no room for the factory"));
        }
        // SAFETY: checked above; the array has room for `max_factories`.
        unsafe {
            *factories = Factory::create(host, logger);
            *num_factories = 1;
        }
        Ok(())
    })
}

/// Counterpart of [`CreateEpFactories`]. Sessions that still run keep what they need.
///
/// # Safety
/// `factory` was made by [`CreateEpFactories`] and is not used by the caller afterwards, other than through the
/// sessions it created.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn ReleaseEpFactory(factory: *mut OrtEpFactory) -> OrtStatusPtr {
    if !factory.is_null() {
        // SAFETY: by the contract.
        unsafe { Factory::release(factory) };
    }
    OrtStatusPtr::default()
}
