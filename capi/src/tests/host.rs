//! A host made of the few functions that the callbacks under test call.

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;

use ort_sys::{
    OrtApi, OrtApiBase, OrtEpApi as OpaqueEpApi, OrtErrorCode, OrtKeyValuePairs, OrtLogger, OrtLoggingLevel,
    OrtSessionOptions, OrtStatus, OrtStatusPtr,
};

use crate::sys::{OrtApi24, OrtEpApi24, OrtKernelCreateFunc, OrtKernelDef, OrtKernelDefBuilder, OrtKernelRegistry};

thread_local! {
    static VERSION: Cell<&'static CStr> = const { Cell::new(c"1.23.2") };
    static OPTIONS: RefCell<Vec<(CString, CString)>> = const { RefCell::new(Vec::new()) };
    static KERNELS: RefCell<Vec<Registered>> = const { RefCell::new(Vec::new()) };
    static LOG: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// What the fake `OrtStatus` points to.
struct Status {
    code: OrtErrorCode,
    message: CString,
}

/// A logger that the fake host takes; it keeps what this thread logs.
pub(super) const LOGGER: *const OrtLogger = ptr::dangling();

/// The entry point of a host that says it is `version`.
pub(super) fn base(version: &'static CStr) -> OrtApiBase {
    VERSION.set(version);
    OrtApiBase { GetApi: get_api, GetVersionString: get_version_string }
}

/// Sets the session configuration that the next provider is created with.
pub(super) fn set_options(pairs: &[(&str, &str)]) {
    let owned = |text: &str| CString::new(text).unwrap();
    OPTIONS.set(pairs.iter().map(|(key, value)| (owned(key), owned(value))).collect());
}

/// Takes the messages this thread logged.
pub(super) fn take_log() -> Vec<String> {
    LOG.take()
}

/// Code and message of a status, which is released; `None` for success.
pub(super) fn take_status(status: OrtStatusPtr) -> Option<(OrtErrorCode, String)> {
    if status.0.is_null() {
        return None;
    }
    // SAFETY: every status of this host is a boxed `Status`.
    let status = unsafe { Box::from_raw(status.0.cast::<Status>()) };
    Some((status.code, status.message.into_string().unwrap()))
}

unsafe extern "system" fn get_version_string() -> *const c_char {
    VERSION.get().as_ptr()
}

/// Like the real one: the same table for every version up to the host's own.
unsafe extern "system" fn get_api(version: u32) -> *const OrtApi {
    let minor = VERSION.get().to_str().unwrap().strip_prefix("1.");
    let newest = minor.and_then(|rest| rest.split('.').next()?.parse().ok()).unwrap_or(0);
    if (1..=newest).contains(&version) { table() } else { ptr::null() }
}

fn table() -> *const OrtApi {
    static TABLE: OnceLock<usize> = OnceLock::new();
    let address = TABLE.get_or_init(|| {
        let table: *mut OrtApi = Box::leak(Box::new(MaybeUninit::<OrtApi24>::zeroed())).as_mut_ptr().cast();
        // SAFETY: fields of a live allocation, written through pointers: the others stay zero and are never read.
        unsafe {
            (&raw mut (*table).CreateStatus).write(create_status);
            (&raw mut (*table).GetErrorMessage).write(get_error_message);
            (&raw mut (*table).ReleaseStatus).write(release_status);
            (&raw mut (*table).GetEpApi).write(get_ep_api);
            (&raw mut (*table).Logger_LogMessage).write(log_message);
            (&raw mut (*table).Logger_GetLoggingSeverityLevel).write(logging_level);
            (&raw mut (*table).GetSessionOptionsConfigEntries).write(config_entries);
            (&raw mut (*table).GetKeyValuePairs).write(key_value_pairs);
            (&raw mut (*table).ReleaseKeyValuePairs).write(release_key_value_pairs);
        }
        table.expose_provenance()
    });
    ptr::with_exposed_provenance(*address)
}

/// A registered kernel: the function that makes it and the function's state.
pub(super) type Registered = (OrtKernelCreateFunc, *mut c_void);

/// Takes the kernels that this thread registered.
pub(super) fn take_kernels() -> Vec<Registered> {
    KERNELS.take()
}

unsafe extern "system" fn get_ep_api() -> *const OpaqueEpApi {
    static TABLE: OnceLock<usize> = OnceLock::new();
    let address = TABLE.get_or_init(|| {
        let table: *mut OrtEpApi24 = Box::leak(Box::new(MaybeUninit::<OrtEpApi24>::zeroed())).as_mut_ptr();
        // SAFETY: as for the other table.
        unsafe {
            (&raw mut (*table).CreateKernelRegistry).write(create_registry);
            (&raw mut (*table).ReleaseKernelRegistry).write(release_registry);
            (&raw mut (*table).KernelRegistry_AddKernel).write(add_kernel);
            (&raw mut (*table).CreateKernelDefBuilder).write(create_builder);
            (&raw mut (*table).ReleaseKernelDefBuilder).write(release_builder);
            (&raw mut (*table).KernelDefBuilder_SetOperatorType).write(set_text);
            (&raw mut (*table).KernelDefBuilder_SetDomain).write(set_text);
            (&raw mut (*table).KernelDefBuilder_SetSinceVersion).write(set_since_version);
            (&raw mut (*table).KernelDefBuilder_SetExecutionProvider).write(set_text);
            (&raw mut (*table).KernelDefBuilder_Build).write(build);
            (&raw mut (*table).ReleaseKernelDef).write(release_definition);
        }
        table.expose_provenance()
    });
    ptr::with_exposed_provenance(*address)
}

unsafe extern "system" fn create_registry(registry: *mut *mut OrtKernelRegistry) -> OrtStatusPtr {
    // SAFETY: an out pointer.
    unsafe { *registry = ptr::dangling_mut() };
    OrtStatusPtr::default()
}

unsafe extern "system" fn release_registry(_: *mut OrtKernelRegistry) {}

unsafe extern "system" fn add_kernel(
    _: *mut OrtKernelRegistry,
    _: *const OrtKernelDef,
    create: OrtKernelCreateFunc,
    state: *mut c_void,
) -> OrtStatusPtr {
    KERNELS.with_borrow_mut(|kernels| kernels.push((create, state)));
    OrtStatusPtr::default()
}

unsafe extern "system" fn create_builder(builder: *mut *mut OrtKernelDefBuilder) -> OrtStatusPtr {
    // SAFETY: an out pointer.
    unsafe { *builder = ptr::dangling_mut() };
    OrtStatusPtr::default()
}

unsafe extern "system" fn release_builder(_: *mut OrtKernelDefBuilder) {}

unsafe extern "system" fn set_text(_: *mut OrtKernelDefBuilder, _: *const c_char) -> OrtStatusPtr {
    OrtStatusPtr::default()
}

unsafe extern "system" fn set_since_version(_: *mut OrtKernelDefBuilder, first: c_int, last: c_int) -> OrtStatusPtr {
    assert!(1 <= first && first <= last, "versions {first} to {last}");
    OrtStatusPtr::default()
}

unsafe extern "system" fn build(_: *mut OrtKernelDefBuilder, definition: *mut *mut OrtKernelDef) -> OrtStatusPtr {
    // SAFETY: an out pointer.
    unsafe { *definition = ptr::dangling_mut() };
    OrtStatusPtr::default()
}

unsafe extern "system" fn release_definition(_: *mut OrtKernelDef) {}

unsafe extern "system" fn create_status(code: OrtErrorCode, message: *const c_char) -> OrtStatusPtr {
    // SAFETY: a C string of the caller.
    let message = unsafe { CStr::from_ptr(message) }.to_owned();
    OrtStatusPtr(Box::into_raw(Box::new(Status { code, message })).cast())
}

unsafe extern "system" fn get_error_message(status: *const OrtStatus) -> *const c_char {
    // SAFETY: every status of this host is a boxed `Status`.
    unsafe { (*status.cast::<Status>()).message.as_ptr() }
}

unsafe extern "system" fn release_status(status: *mut OrtStatus) {
    take_status(OrtStatusPtr(status));
}

unsafe extern "system" fn log_message(
    _: *const OrtLogger,
    level: OrtLoggingLevel,
    message: *const c_char,
    _: *const c_char,
    _: c_int,
    _: *const c_char,
) -> OrtStatusPtr {
    // SAFETY: a C string of the caller.
    let message = unsafe { CStr::from_ptr(message) }.to_str().unwrap();
    // Also shows the failed assertions of tests, since the panic hook logs.
    eprintln!("{level:?}: {message}");
    LOG.with_borrow_mut(|log| log.push(message.to_owned()));
    OrtStatusPtr::default()
}

unsafe extern "system" fn logging_level(_: *const OrtLogger, level: *mut OrtLoggingLevel) -> OrtStatusPtr {
    // SAFETY: an out pointer.
    unsafe { level.write(OrtLoggingLevel::ORT_LOGGING_LEVEL_INFO) };
    OrtStatusPtr::default()
}

/// What the fake `OrtKeyValuePairs` points to: keys, then values.
type Pairs = (Vec<*const c_char>, Vec<*const c_char>);

unsafe extern "system" fn config_entries(_: *const OrtSessionOptions, out: *mut *mut OrtKeyValuePairs) -> OrtStatusPtr {
    let pairs: Pairs =
        OPTIONS.with_borrow(|options| options.iter().map(|(key, value)| (key.as_ptr(), value.as_ptr())).unzip());
    // SAFETY: an out pointer.
    unsafe { *out = Box::into_raw(Box::new(pairs)).cast() };
    OrtStatusPtr::default()
}

unsafe extern "system" fn key_value_pairs(
    pairs: *const OrtKeyValuePairs,
    keys: *mut *const *const c_char,
    values: *mut *const *const c_char,
    count: *mut usize,
) {
    // SAFETY: all pairs of this host are boxed `Pairs`; the others are out pointers.
    unsafe {
        let pairs = &*pairs.cast::<Pairs>();
        *keys = pairs.0.as_ptr();
        *values = pairs.1.as_ptr();
        *count = pairs.0.len();
    }
}

unsafe extern "system" fn release_key_value_pairs(pairs: *mut OrtKeyValuePairs) {
    // SAFETY: all pairs of this host are boxed `Pairs`.
    drop(unsafe { Box::from_raw(pairs.cast::<Pairs>()) });
}
