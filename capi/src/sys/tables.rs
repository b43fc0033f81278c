//! Function tables that the host fills and this crate calls.

use std::ffi::{c_char, c_void};
use std::mem::{offset_of, size_of};

use ort_sys::{
    OrtApi, OrtEpDevice, OrtHardwareDevice, OrtKeyValuePairs, OrtNode, OrtStatusPtr, OrtTensorTypeAndShapeInfo,
    OrtValue,
};

use super::{
    OrtEpFactory, OrtEpGraphSupportInfo, OrtNodeComputeContext, OrtNodeFusionOptions, OrtProfilingEvent,
    OrtProfilingEventsContainer,
};

/// A table slot that this crate never calls.
type Unused = *const c_void;

/// The first functions of `OrtEpApi`, up to the last one used here.
#[repr(C)]
pub struct OrtEpApi {
    pub CreateEpDevice: unsafe extern "system" fn(
        factory: *mut OrtEpFactory,
        device: *const OrtHardwareDevice,
        metadata: *const OrtKeyValuePairs,
        options: *const OrtKeyValuePairs,
        ep_device: *mut *mut OrtEpDevice,
    ) -> OrtStatusPtr,
    _ReleaseEpDevice: Unused,
    pub EpGraphSupportInfo_AddNodesToFuse: unsafe extern "system" fn(
        info: *mut OrtEpGraphSupportInfo,
        nodes: *const *const OrtNode,
        num_nodes: usize,
        options: *const OrtNodeFusionOptions,
    ) -> OrtStatusPtr,
    _EpGraphSupportInfo_AddSingleNode: Unused,
    pub NodeComputeContext_NodeName: unsafe extern "system" fn(context: *const OrtNodeComputeContext) -> *const c_char,
}

/// `OrtEpApi` with the functions of ONNX Runtime 1.25 that this crate uses when the host has them.
#[repr(C)]
pub struct OrtEpApi25 {
    _before: [Unused; 65],
    pub CreateProfilingEvent: unsafe extern "system" fn(
        category: i32,
        process_id: i32,
        thread_id: i32,
        name: *const c_char,
        timestamp_us: i64,
        duration_us: i64,
        arg_keys: *const *const c_char,
        arg_values: *const *const c_char,
        num_args: usize,
        event: *mut *mut OrtProfilingEvent,
    ) -> OrtStatusPtr,
    pub ReleaseProfilingEvent: unsafe extern "system" fn(event: *mut OrtProfilingEvent),
    _getters: [Unused; 5],
    pub ProfilingEventsContainer_AddEvents: unsafe extern "system" fn(
        container: *mut OrtProfilingEventsContainer,
        events: *const *const OrtProfilingEvent,
        num_events: usize,
    ) -> OrtStatusPtr,
}

/// `OrtApi` with the functions of ONNX Runtime 1.24 that this crate uses when the host has them.
#[repr(C)]
pub struct OrtApi24 {
    _v23: OrtApi,
    pub TensorTypeAndShape_HasShape: unsafe extern "system" fn(info: *const OrtTensorTypeAndShapeInfo) -> bool,
    _between: [Unused; 23],
    pub GetTensorElementTypeAndShapeDataReference: unsafe extern "system" fn(
        value: *const OrtValue,
        element_type: *mut i32,
        dims: *mut *const i64,
        num_dims: *mut usize,
    ) -> OrtStatusPtr,
}

const POINTER: usize = size_of::<Unused>();
const _: () = {
    assert!(offset_of!(OrtEpApi, EpGraphSupportInfo_AddNodesToFuse) == 2 * POINTER);
    assert!(offset_of!(OrtEpApi, NodeComputeContext_NodeName) == 4 * POINTER);
    assert!(offset_of!(OrtEpApi25, CreateProfilingEvent) == 65 * POINTER);
    assert!(offset_of!(OrtEpApi25, ProfilingEventsContainer_AddEvents) == 72 * POINTER);
    assert!(offset_of!(OrtApi, GetTensorSizeInBytes) == 318 * POINTER);
    assert!(offset_of!(OrtApi, GetSessionOptionsConfigEntries) == 379 * POINTER);
    assert!(size_of::<OrtApi>() == 390 * POINTER);
    assert!(offset_of!(OrtApi24, TensorTypeAndShape_HasShape) == 390 * POINTER);
    assert!(offset_of!(OrtApi24, GetTensorElementTypeAndShapeDataReference) == 414 * POINTER);
};
