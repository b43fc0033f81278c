//! The provider side of ONNX Runtime's C API, which `ort-sys` leaves opaque.
//!
//! Everything here is the layout of ONNX Runtime 1.23, but for what says that it is of a later one. Versions only append, and
//! read an appended slot only from a struct whose `ort_version_supported` says that it exists.

mod callbacks;
mod tables;

pub(crate) use callbacks::*;
pub(crate) use tables::*;

/// The version of all struct layouts that name no other; also the oldest host that can compile plugin nodes.
pub(crate) const EP_VERSION: u32 = 23;

/// The oldest host that runs registered kernels.
pub(crate) const KERNEL_VERSION: u32 = 24;

/// The oldest host whose profiler takes events of providers.
pub(crate) const PROFILER_VERSION: u32 = 25;

/// Opaque types of the provider API.
macro_rules! opaque {
    ($($name:ident),* $(,)?) => {
        $(#[repr(C)] pub struct $name { _opaque: [u8; 0] })*
    };
}
opaque!(
    OrtEpGraphSupportInfo,
    OrtNodeComputeContext,
    OrtDataTransferImpl,
    OrtSyncStreamImpl,
    OrtMemoryDevice,
    OrtKernelRegistry,
    OrtKernelDefBuilder,
    OrtKernelDef,
    OrtSharedPrePackedWeightCache,
    OrtProfilingEvent,
    OrtProfilingEventsContainer,
);
