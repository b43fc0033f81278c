//! The provider side of ONNX Runtime's C API, which `ort-sys` leaves opaque.
//!
//! Everything here is the layout of ONNX Runtime 1.23. Later versions only append, and read an appended slot only
//! from a struct whose `ort_version_supported` says that it exists, so [`EP_VERSION`] is all a newer host sees.

mod callbacks;
mod tables;

pub(crate) use callbacks::*;
pub(crate) use tables::*;

/// The version whose struct layouts this crate declares; also the oldest host that can compile plugin nodes.
pub(crate) const EP_VERSION: u32 = 23;

/// Opaque types of the provider API.
macro_rules! opaque {
    ($($name:ident),* $(,)?) => {
        $(#[repr(C)] pub struct $name { _opaque: [u8; 0] })*
    };
}
opaque!(OrtEpGraphSupportInfo, OrtNodeComputeContext, OrtDataTransferImpl, OrtSyncStreamImpl, OrtMemoryDevice);
