//! Function tables that the host fills and this crate calls.

use std::ffi::{c_char, c_int, c_void};
use std::mem::{offset_of, size_of};

use ort_sys::{
    OrtApi, OrtEpDevice, OrtHardwareDevice, OrtKernelInfo, OrtKeyValuePairs, OrtNode, OrtStatusPtr,
    OrtTensorTypeAndShapeInfo, OrtValue,
};

use super::{
    OrtEpFactory, OrtEpGraphSupportInfo, OrtKernelCreateFunc, OrtKernelDef, OrtKernelDefBuilder, OrtKernelRegistry,
    OrtNodeComputeContext, OrtNodeFusionOptions, OrtProfilingEvent, OrtProfilingEventsContainer,
    OrtSharedPrePackedWeightCache,
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
    pub EpGraphSupportInfo_AddSingleNode:
        unsafe extern "system" fn(info: *mut OrtEpGraphSupportInfo, node: *const OrtNode) -> OrtStatusPtr,
    pub NodeComputeContext_NodeName: unsafe extern "system" fn(context: *const OrtNodeComputeContext) -> *const c_char,
}

/// `OrtEpApi` with the functions of ONNX Runtime 1.24 that this crate uses when the host has them.
#[repr(C)]
pub struct OrtEpApi24 {
    _v23: OrtEpApi,
    _unused: [Unused; 13],
    pub CreateKernelRegistry: unsafe extern "system" fn(registry: *mut *mut OrtKernelRegistry) -> OrtStatusPtr,
    pub ReleaseKernelRegistry: unsafe extern "system" fn(registry: *mut OrtKernelRegistry),
    pub KernelRegistry_AddKernel: unsafe extern "system" fn(
        registry: *mut OrtKernelRegistry,
        definition: *const OrtKernelDef,
        create: OrtKernelCreateFunc,
        state: *mut c_void,
    ) -> OrtStatusPtr,
    pub CreateKernelDefBuilder: unsafe extern "system" fn(builder: *mut *mut OrtKernelDefBuilder) -> OrtStatusPtr,
    pub ReleaseKernelDefBuilder: unsafe extern "system" fn(builder: *mut OrtKernelDefBuilder),
    pub KernelDefBuilder_SetOperatorType:
        unsafe extern "system" fn(builder: *mut OrtKernelDefBuilder, op_type: *const c_char) -> OrtStatusPtr,
    pub KernelDefBuilder_SetDomain:
        unsafe extern "system" fn(builder: *mut OrtKernelDefBuilder, domain: *const c_char) -> OrtStatusPtr,
    pub KernelDefBuilder_SetSinceVersion:
        unsafe extern "system" fn(builder: *mut OrtKernelDefBuilder, first: c_int, last: c_int) -> OrtStatusPtr,
    pub KernelDefBuilder_SetExecutionProvider:
        unsafe extern "system" fn(builder: *mut OrtKernelDefBuilder, name: *const c_char) -> OrtStatusPtr,
    _types_and_aliases: [Unused; 5],
    pub KernelDefBuilder_Build: unsafe extern "system" fn(
        builder: *mut OrtKernelDefBuilder,
        definition: *mut *mut OrtKernelDef,
    ) -> OrtStatusPtr,
    pub ReleaseKernelDef: unsafe extern "system" fn(definition: *mut OrtKernelDef),
    _queries: [Unused; 8],
    pub SharedPrePackedWeightCache_StoreWeightData: unsafe extern "system" fn(
        cache: *mut OrtSharedPrePackedWeightCache,
        buffers: *mut *mut c_void,
        sizes: *mut usize,
        num_buffers: usize,
    ) -> OrtStatusPtr,
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
    _operator: [Unused; 3],
    pub KernelInfo_GetOperatorSinceVersion:
        unsafe extern "system" fn(info: *const OrtKernelInfo, version: *mut c_int) -> OrtStatusPtr,
    _between: [Unused; 19],
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
    assert!(offset_of!(OrtEpApi24, CreateKernelRegistry) == 18 * POINTER);
    assert!(offset_of!(OrtEpApi24, KernelDefBuilder_Build) == 32 * POINTER);
    assert!(offset_of!(OrtEpApi24, SharedPrePackedWeightCache_StoreWeightData) == 42 * POINTER);
    assert!(offset_of!(OrtEpApi25, CreateProfilingEvent) == 65 * POINTER);
    assert!(offset_of!(OrtEpApi25, ProfilingEventsContainer_AddEvents) == 72 * POINTER);
    assert!(offset_of!(OrtApi, GetTensorSizeInBytes) == 318 * POINTER);
    assert!(offset_of!(OrtApi, GetSessionOptionsConfigEntries) == 379 * POINTER);
    assert!(size_of::<OrtApi>() == 390 * POINTER);
    assert!(offset_of!(OrtApi24, TensorTypeAndShape_HasShape) == 390 * POINTER);
    assert!(offset_of!(OrtApi24, KernelInfo_GetOperatorSinceVersion) == 394 * POINTER);
    assert!(offset_of!(OrtApi24, GetTensorElementTypeAndShapeDataReference) == 414 * POINTER);
};
