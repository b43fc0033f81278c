//! The factory: one per registration of the library.

use std::ffi::{CStr, c_char};
use std::ptr;
use std::sync::Arc;

use ort_sys::{
    OrtAllocator, OrtCompiledModelCompatibility, OrtEpDevice, OrtHardwareDevice, OrtKeyValuePairs, OrtLogger,
    OrtMemoryInfo, OrtSessionOptions, OrtStatusPtr,
};

use crate::guard;
use crate::handle::{Devices, KeyValuePairs, SessionOptions};
use crate::host::Host;
use crate::log::{self, Logger};
use crate::provider::EpInstance;
use crate::status::Error;
use crate::sys::{EP_VERSION, OrtDataTransferImpl, OrtEp, OrtEpFactory, OrtMemoryDevice, OrtSyncStreamImpl};

/// `EP_NAME` for C.
pub(crate) const NAME: &CStr = c"Spacemit";
const VENDOR: &CStr = c"SpacemiT";
/// SpacemiT's vendor id: `mvendorid` of its cores.
const VENDOR_ID: u32 = 0x710;
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");

/// Owned jointly by ONNX Runtime and by every provider it made: a session that outlives the registration is still
/// released through its factory.
#[repr(C)]
pub(crate) struct Factory {
    callbacks: OrtEpFactory,
    host: Host,
    logger: Logger,
}

impl Factory {
    /// Makes a factory that lives until [`Factory::release`], and longer while it has providers.
    pub(crate) fn create(host: Host, logger: Logger) -> *mut OrtEpFactory {
        log::add_fallback(logger);
        let callbacks = OrtEpFactory {
            ort_version_supported: EP_VERSION,
            GetName: get_name,
            GetVendor: get_vendor,
            GetSupportedDevices: get_supported_devices,
            CreateEp: create_ep,
            ReleaseEp: release_ep,
            GetVendorId: get_vendor_id,
            GetVersion: get_version,
            ValidateCompiledModelCompatibilityInfo: validate_compiled_model,
            CreateAllocator: create_allocator,
            ReleaseAllocator: release_allocator,
            CreateDataTransfer: create_data_transfer,
            IsStreamAware: is_stream_aware,
            CreateSyncStreamForDevice: create_sync_stream,
        };
        Arc::into_raw(Arc::new(Self { callbacks, host, logger })).cast_mut().cast()
    }

    /// # Safety
    /// `this` is from [`Factory::create`] and was not released yet.
    pub(crate) unsafe fn release(this: *mut OrtEpFactory) {
        // SAFETY: `this` is the Arc that `create` gave away.
        let factory = unsafe { Arc::from_raw(this.cast::<Factory>().cast_const()) };
        log::remove_fallback(factory.logger);
    }

    /// # Safety
    /// `this` is from [`Factory::create`] and alive for `'a`.
    unsafe fn from_raw<'a>(this: *const OrtEpFactory) -> &'a Self {
        // SAFETY: `callbacks` is the first field of a `Factory`; it is only ever shared.
        unsafe { &*this.cast::<Self>() }
    }

    /// Another owner of the factory behind `this`.
    ///
    /// # Safety
    /// As for [`Factory::from_raw`].
    unsafe fn share(this: *const OrtEpFactory) -> Arc<Self> {
        let this = this.cast::<Self>();
        // SAFETY: `this` came from an Arc that is alive.
        unsafe {
            Arc::increment_strong_count(this);
            Arc::from_raw(this)
        }
    }
}

unsafe extern "system" fn get_name(_: *const OrtEpFactory) -> *const c_char {
    NAME.as_ptr()
}

unsafe extern "system" fn get_vendor(_: *const OrtEpFactory) -> *const c_char {
    VENDOR.as_ptr()
}

unsafe extern "system" fn get_vendor_id(_: *const OrtEpFactory) -> u32 {
    VENDOR_ID
}

unsafe extern "system" fn get_version(_: *const OrtEpFactory) -> *const c_char {
    VERSION.as_ptr().cast()
}

/// Offers the CPU. Without allocator information its memory is the CPU's, so values cross the boundary uncopied.
unsafe extern "system" fn get_supported_devices(
    this: *mut OrtEpFactory,
    devices: *const *const OrtHardwareDevice,
    num_devices: usize,
    ep_devices: *mut *mut OrtEpDevice,
    max_ep_devices: usize,
    num_ep_devices: *mut usize,
) -> OrtStatusPtr {
    // SAFETY: ONNX Runtime passes a live factory.
    let factory = unsafe { Factory::from_raw(this) };
    guard::status(factory.host, factory.logger, || {
        // SAFETY: an out pointer; the devices are live during the call.
        let devices = unsafe {
            *num_ep_devices = 0;
            Devices::new(factory.host, devices, num_devices)
        };
        let Some(cpu) = devices.cpu().filter(|_| max_ep_devices > 0) else {
            return Ok(());
        };
        let metadata = KeyValuePairs::new(factory.host, &[(c"library", c"onnxruntime-ep-spacemit")]);
        // SAFETY: live arguments; the array has room for `max_ep_devices`.
        unsafe {
            let api = factory.host.ep();
            let status = ((*api).CreateEpDevice)(this, cpu, metadata.raw(), ptr::null(), ep_devices);
            factory.host.check(status)?;
            *num_ep_devices = 1;
        }
        Ok(())
    })
}

unsafe extern "system" fn create_ep(
    this: *mut OrtEpFactory,
    _devices: *const *const OrtHardwareDevice,
    _metadata: *const *const OrtKeyValuePairs,
    _num_devices: usize,
    options: *const OrtSessionOptions,
    logger: *const OrtLogger,
    ep: *mut *mut OrtEp,
) -> OrtStatusPtr {
    // SAFETY: ONNX Runtime passes a live factory, and a logger that lives as long as the session.
    let (factory, logger) = unsafe {
        let factory = Factory::share(this);
        let logger = Logger::new(factory.host, logger);
        (factory, logger)
    };
    let host = factory.host;
    guard::status(host, logger, || {
        // SAFETY: an out pointer; the options are live during the call.
        let options = unsafe {
            *ep = ptr::null_mut();
            SessionOptions::new(host, options)
        };
        let instance = EpInstance::create(host, logger, factory, options)?;
        // SAFETY: as above.
        unsafe { *ep = instance };
        Ok(())
    })
}

unsafe extern "system" fn release_ep(this: *mut OrtEpFactory, ep: *mut OrtEp) {
    if ep.is_null() {
        return;
    }
    // Held until the end, for the provider may be the last other owner.
    // SAFETY: ONNX Runtime passes a live factory.
    let factory = unsafe { Factory::share(this) };
    // The session's logger may be gone already, and the registration too: nothing is logged from here on.
    // SAFETY: a NULL logger writes nothing.
    let silent = unsafe { Logger::new(factory.host, ptr::null()) };
    // SAFETY: `ep` is from `create_ep` and is released once.
    guard::infallible(silent, || unsafe { EpInstance::release(ep) });
}

/// This provider makes no compiled models, so none is its own.
unsafe extern "system" fn validate_compiled_model(
    this: *mut OrtEpFactory,
    _devices: *const *const OrtHardwareDevice,
    _num_devices: usize,
    _compatibility_info: *const c_char,
    compatibility: *mut i32,
) -> OrtStatusPtr {
    // SAFETY: a live factory and an out pointer.
    let factory = unsafe { Factory::from_raw(this) };
    guard::status(factory.host, factory.logger, || {
        // SAFETY: an out pointer.
        unsafe { *compatibility = OrtCompiledModelCompatibility::EP_NOT_APPLICABLE as i32 };
        Ok(())
    })
}

/// NULL: the CPU's own allocator serves.
unsafe extern "system" fn create_allocator(
    this: *mut OrtEpFactory,
    _memory_info: *const OrtMemoryInfo,
    _options: *const OrtKeyValuePairs,
    allocator: *mut *mut OrtAllocator,
) -> OrtStatusPtr {
    // SAFETY: a live factory and an out pointer.
    unsafe { leave_out(this, allocator) }
}

unsafe extern "system" fn release_allocator(_: *mut OrtEpFactory, _: *mut OrtAllocator) {}

/// NULL: all memory is the CPU's.
unsafe extern "system" fn create_data_transfer(
    this: *mut OrtEpFactory,
    data_transfer: *mut *mut OrtDataTransferImpl,
) -> OrtStatusPtr {
    // SAFETY: a live factory and an out pointer.
    unsafe { leave_out(this, data_transfer) }
}

unsafe extern "system" fn is_stream_aware(_: *const OrtEpFactory) -> bool {
    false
}

unsafe extern "system" fn create_sync_stream(
    this: *mut OrtEpFactory,
    _device: *const OrtMemoryDevice,
    _options: *const OrtKeyValuePairs,
    stream: *mut *mut OrtSyncStreamImpl,
) -> OrtStatusPtr {
    // SAFETY: a live factory and an out pointer.
    unsafe { leave_out(this, stream) }
}

/// Answers an optional object with NULL.
///
/// # Safety
/// `this` is a live factory and `out` an out pointer.
unsafe fn leave_out<T>(this: *mut OrtEpFactory, out: *mut *mut T) -> OrtStatusPtr {
    // SAFETY: by the contract.
    let factory = unsafe { Factory::from_raw(this) };
    guard::status(factory.host, factory.logger, || {
        if out.is_null() {
            return Err(Error::invalid_argument("Spacemit: the out pointer is NULL"));
        }
        // SAFETY: by the contract.
        unsafe { *out = ptr::null_mut() };
        Ok(())
    })
}
