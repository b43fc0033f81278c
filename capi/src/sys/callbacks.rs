//! Callback structs that this crate fills and the host calls.

use std::ffi::{c_char, c_int, c_void};
use std::mem::{offset_of, size_of};

use ort_sys::{
    OrtAllocator, OrtEpDevice, OrtGraph, OrtHardwareDevice, OrtKernelContext, OrtKernelInfo, OrtKeyValuePairs,
    OrtLogger, OrtMemoryInfo, OrtNode, OrtSessionOptions, OrtStatusPtr, OrtValue,
};

use super::{
    OrtDataTransferImpl, OrtEpGraphSupportInfo, OrtKernelRegistry, OrtMemoryDevice, OrtNodeComputeContext,
    OrtProfilingEvent, OrtProfilingEventsContainer, OrtSharedPrePackedWeightCache, OrtSyncStreamImpl,
};

/// An optional callback that is left out.
type Absent = *const c_void;

/// Creates execution providers; one per registered library.
#[repr(C)]
pub struct OrtEpFactory {
    pub ort_version_supported: u32,
    pub GetName: unsafe extern "system" fn(this: *const OrtEpFactory) -> *const c_char,
    pub GetVendor: unsafe extern "system" fn(this: *const OrtEpFactory) -> *const c_char,
    pub GetSupportedDevices: unsafe extern "system" fn(
        this: *mut OrtEpFactory,
        devices: *const *const OrtHardwareDevice,
        num_devices: usize,
        ep_devices: *mut *mut OrtEpDevice,
        max_ep_devices: usize,
        num_ep_devices: *mut usize,
    ) -> OrtStatusPtr,
    pub CreateEp: unsafe extern "system" fn(
        this: *mut OrtEpFactory,
        devices: *const *const OrtHardwareDevice,
        metadata: *const *const OrtKeyValuePairs,
        num_devices: usize,
        options: *const OrtSessionOptions,
        logger: *const OrtLogger,
        ep: *mut *mut OrtEp,
    ) -> OrtStatusPtr,
    pub ReleaseEp: unsafe extern "system" fn(this: *mut OrtEpFactory, ep: *mut OrtEp),
    pub GetVendorId: unsafe extern "system" fn(this: *const OrtEpFactory) -> u32,
    pub GetVersion: unsafe extern "system" fn(this: *const OrtEpFactory) -> *const c_char,
    pub ValidateCompiledModelCompatibilityInfo: unsafe extern "system" fn(
        this: *mut OrtEpFactory,
        devices: *const *const OrtHardwareDevice,
        num_devices: usize,
        compatibility_info: *const c_char,
        compatibility: *mut i32,
    ) -> OrtStatusPtr,
    pub CreateAllocator: unsafe extern "system" fn(
        this: *mut OrtEpFactory,
        memory_info: *const OrtMemoryInfo,
        options: *const OrtKeyValuePairs,
        allocator: *mut *mut OrtAllocator,
    ) -> OrtStatusPtr,
    pub ReleaseAllocator: unsafe extern "system" fn(this: *mut OrtEpFactory, allocator: *mut OrtAllocator),
    pub CreateDataTransfer: unsafe extern "system" fn(
        this: *mut OrtEpFactory,
        data_transfer: *mut *mut OrtDataTransferImpl,
    ) -> OrtStatusPtr,
    pub IsStreamAware: unsafe extern "system" fn(this: *const OrtEpFactory) -> bool,
    pub CreateSyncStreamForDevice: unsafe extern "system" fn(
        this: *mut OrtEpFactory,
        device: *const OrtMemoryDevice,
        options: *const OrtKeyValuePairs,
        stream: *mut *mut OrtSyncStreamImpl,
    ) -> OrtStatusPtr,
}

/// One execution provider; one per session.
#[repr(C)]
pub struct OrtEp {
    pub ort_version_supported: u32,
    pub GetName: unsafe extern "system" fn(this: *const OrtEp) -> *const c_char,
    pub GetCapability: unsafe extern "system" fn(
        this: *mut OrtEp,
        graph: *const OrtGraph,
        info: *mut OrtEpGraphSupportInfo,
    ) -> OrtStatusPtr,
    pub Compile: unsafe extern "system" fn(
        this: *mut OrtEp,
        graphs: *mut *const OrtGraph,
        fused_nodes: *mut *const OrtNode,
        count: usize,
        infos: *mut *mut OrtNodeComputeInfo,
        ep_context_nodes: *mut *mut OrtNode,
    ) -> OrtStatusPtr,
    pub ReleaseNodeComputeInfos:
        unsafe extern "system" fn(this: *mut OrtEp, infos: *mut *mut OrtNodeComputeInfo, count: usize),
    pub GetPreferredDataLayout: Absent,
    pub ShouldConvertDataLayoutForOp: Absent,
    pub SetDynamicOptions: unsafe extern "system" fn(
        this: *mut OrtEp,
        keys: *const *const c_char,
        values: *const *const c_char,
        count: usize,
    ) -> OrtStatusPtr,
    pub OnRunStart: Absent,
    pub OnRunEnd: Absent,
    pub CreateAllocator: Absent,
    pub CreateSyncStreamForDevice: Absent,
    pub GetCompiledModelCompatibilityInfo: Absent,
    /// Since 1.24.
    pub GetKernelRegistry:
        unsafe extern "system" fn(this: *mut OrtEp, registry: *mut *const OrtKernelRegistry) -> OrtStatusPtr,
    pub IsConcurrentRunSupported: Absent,
    /// Since 1.25.
    pub Sync: Absent,
    pub CreateProfiler:
        unsafe extern "system" fn(this: *mut OrtEp, profiler: *mut *mut OrtEpProfilerImpl) -> OrtStatusPtr,
}

/// Hands events to the host's profiler. Since 1.25.
#[repr(C)]
pub struct OrtEpProfilerImpl {
    pub ort_version_supported: u32,
    pub Release: unsafe extern "system" fn(this: *mut OrtEpProfilerImpl),
    pub StartProfiling: unsafe extern "system" fn(this: *mut OrtEpProfilerImpl, offset_ns: i64) -> OrtStatusPtr,
    pub StartEvent: unsafe extern "system" fn(this: *mut OrtEpProfilerImpl, correlation: u64) -> OrtStatusPtr,
    pub StopEvent: unsafe extern "system" fn(
        this: *mut OrtEpProfilerImpl,
        correlation: u64,
        event: *const OrtProfilingEvent,
    ) -> OrtStatusPtr,
    pub EndProfiling: unsafe extern "system" fn(
        this: *mut OrtEpProfilerImpl,
        container: *mut OrtProfilingEventsContainer,
    ) -> OrtStatusPtr,
}

/// Runs one fused node.
#[repr(C)]
pub struct OrtNodeComputeInfo {
    pub ort_version_supported: u32,
    pub CreateState: unsafe extern "system" fn(
        this: *mut OrtNodeComputeInfo,
        context: *mut OrtNodeComputeContext,
        state: *mut *mut c_void,
    ) -> OrtStatusPtr,
    pub Compute: unsafe extern "system" fn(
        this: *mut OrtNodeComputeInfo,
        state: *mut c_void,
        context: *mut OrtKernelContext,
    ) -> OrtStatusPtr,
    pub ReleaseState: unsafe extern "system" fn(this: *mut OrtNodeComputeInfo, state: *mut c_void),
}

/// Runs one node with a registered kernel. Since 1.24.
#[repr(C)]
pub struct OrtKernelImpl {
    pub ort_version_supported: u32,
    /// Zero; the host's own.
    pub flags: u32,
    pub Compute: unsafe extern "system" fn(this: *mut OrtKernelImpl, context: *mut OrtKernelContext) -> OrtStatusPtr,
    pub Release: unsafe extern "system" fn(this: *mut OrtKernelImpl),
    pub PrePackWeight: unsafe extern "system" fn(
        this: *mut OrtKernelImpl,
        tensor: *const OrtValue,
        input: c_int,
        allocator: *mut OrtAllocator,
        cache: *mut OrtSharedPrePackedWeightCache,
        is_packed: *mut bool,
    ) -> OrtStatusPtr,
    pub SetSharedPrePackedWeight: unsafe extern "system" fn(
        this: *mut OrtKernelImpl,
        buffers: *const *const c_void,
        sizes: *const usize,
        num_buffers: usize,
        input: c_int,
    ) -> OrtStatusPtr,
}

/// Makes the kernel of a node; `state` is what the registration gave.
pub type OrtKernelCreateFunc = unsafe extern "system" fn(
    state: *mut c_void,
    info: *const OrtKernelInfo,
    kernel: *mut *mut OrtKernelImpl,
) -> OrtStatusPtr;

/// How a claimed group becomes a fused node.
#[repr(C)]
pub struct OrtNodeFusionOptions {
    pub ort_version_supported: u32,
    pub drop_constant_initializers: bool,
}

const POINTER: usize = size_of::<Absent>();
const _: () = {
    assert!(offset_of!(OrtEpFactory, CreateEp) == 4 * POINTER);
    assert!(offset_of!(OrtEpFactory, GetVendorId) == 6 * POINTER);
    assert!(offset_of!(OrtEpFactory, CreateDataTransfer) == 11 * POINTER);
    assert!(size_of::<OrtEpFactory>() == 14 * POINTER);
    assert!(offset_of!(OrtEp, Compile) == 3 * POINTER);
    assert!(offset_of!(OrtEp, SetDynamicOptions) == 7 * POINTER);
    assert!(offset_of!(OrtEp, GetCompiledModelCompatibilityInfo) == 12 * POINTER);
    assert!(offset_of!(OrtEp, GetKernelRegistry) == 13 * POINTER);
    assert!(offset_of!(OrtEp, CreateProfiler) == 16 * POINTER);
    assert!(size_of::<OrtEp>() == 17 * POINTER);
    assert!(size_of::<OrtEpProfilerImpl>() == 6 * POINTER);
    assert!(offset_of!(OrtKernelImpl, Compute) == 8);
    assert!(size_of::<OrtKernelImpl>() == 8 + 4 * POINTER);
    assert!(size_of::<OrtNodeComputeInfo>() == 4 * POINTER);
    assert!(offset_of!(OrtNodeFusionOptions, drop_constant_initializers) == 4);
    assert!(size_of::<OrtNodeFusionOptions>() == 8);
};
