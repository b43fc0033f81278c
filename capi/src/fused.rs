//! A fused node: one per claimed group and session.

use std::ffi::c_void;

use ep::CompiledGroup;
use ort_sys::{OrtKernelContext, OrtStatusPtr};

use crate::compute::Runner;
use crate::guard;
use crate::handle::{KernelContext, Node, ValueInfo};
use crate::host::Host;
use crate::log::Logger;
use crate::status::Error;
use crate::sys::{EP_VERSION, OrtNodeComputeContext, OrtNodeComputeInfo};

#[repr(C)]
pub(crate) struct NodeCompute {
    callbacks: OrtNodeComputeInfo,
    host: Host,
    logger: Logger,
    runner: Runner,
}

impl NodeCompute {
    /// Connects `group` with the node that took its place.
    pub(crate) fn new(host: Host, logger: Logger, group: CompiledGroup, fused: Node<'_>) -> Result<Box<Self>, Error> {
        let runner = Runner::new(group, &names(fused.inputs()?)?, &names(fused.outputs()?)?)?;
        Ok(Self::around(host, logger, runner))
    }

    pub(crate) fn around(host: Host, logger: Logger, runner: Runner) -> Box<Self> {
        let callbacks = OrtNodeComputeInfo {
            ort_version_supported: EP_VERSION,
            CreateState: create_state,
            Compute: compute,
            ReleaseState: release_state,
        };
        Box::new(Self { callbacks, host, logger, runner })
    }

    pub(crate) fn into_raw(this: Box<Self>) -> *mut OrtNodeComputeInfo {
        Box::into_raw(this).cast()
    }

    /// # Safety
    /// `this` is NULL, or from [`NodeCompute::into_raw`] and not used afterwards.
    pub(crate) unsafe fn release(this: *mut OrtNodeComputeInfo) {
        if !this.is_null() {
            // SAFETY: by the contract.
            drop(unsafe { Box::from_raw(this.cast::<Self>()) });
        }
    }

    /// # Safety
    /// `this` is from [`NodeCompute::into_raw`] and alive for `'a`.
    unsafe fn from_raw<'a>(this: *const OrtNodeComputeInfo) -> &'a Self {
        // SAFETY: `callbacks` is the first field of a `NodeCompute`; it is only ever shared.
        unsafe { &*this.cast::<Self>() }
    }
}

fn names(values: Vec<Option<ValueInfo<'_>>>) -> Result<Vec<Option<&str>>, Error> {
    values.into_iter().map(|value| value.map(ValueInfo::name).transpose()).collect()
}

/// The node itself is all the state there is.
unsafe extern "system" fn create_state(
    this: *mut OrtNodeComputeInfo,
    _context: *mut OrtNodeComputeContext,
    state: *mut *mut c_void,
) -> OrtStatusPtr {
    // SAFETY: ONNX Runtime passes a live node and an out pointer.
    unsafe {
        let node = NodeCompute::from_raw(this);
        guard::status(node.host, node.logger, || {
            *state = this.cast();
            Ok(())
        })
    }
}

unsafe extern "system" fn compute(
    this: *mut OrtNodeComputeInfo,
    _state: *mut c_void,
    context: *mut OrtKernelContext,
) -> OrtStatusPtr {
    // SAFETY: ONNX Runtime passes a live node, and a context that is live during the call.
    let (node, context) = unsafe {
        let node = NodeCompute::from_raw(this);
        (node, KernelContext::new(node.host, context))
    };
    guard::status(node.host, node.logger, || node.runner.run(context))
}

unsafe extern "system" fn release_state(_: *mut OrtNodeComputeInfo, _: *mut c_void) {}
