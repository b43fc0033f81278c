//! The ONNX Runtime that loaded this library: its version and function tables.

use std::ffi::{CStr, c_char};
use std::ptr::NonNull;

use ort_sys::{OrtApi, OrtApiBase, OrtStatusPtr};

use crate::status::{Error, c_string};
use crate::sys::{EP_VERSION, KERNEL_VERSION, OrtApi24, OrtEpApi, OrtEpApi24, OrtEpApi25, PROFILER_VERSION};

/// Function tables of the host, checked to hold every function this crate calls.
///
/// The tables are static data of ONNX Runtime. They are kept as pointers, never as references: an older host's table
/// is shorter than the Rust struct that describes it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Host {
    ort: NonNull<OrtApi>,
    ort24: Option<NonNull<OrtApi24>>,
    ep: NonNull<OrtEpApi>,
    /// The same table, on hosts whose version has more of it.
    ep25: Option<NonNull<OrtEpApi25>>,
}

// SAFETY: the tables are immutable static data.
unsafe impl Send for Host {}
// SAFETY: as above.
unsafe impl Sync for Host {}

/// Why a host is refused, as a status if the host is able to make one.
pub(crate) struct Refused(pub(crate) OrtStatusPtr);

impl Host {
    /// Reads the host's version and takes its tables; refuses majors other than 1 and versions before 1.23.
    ///
    /// # Safety
    /// `base` is the pointer ONNX Runtime passed to `CreateEpFactories`.
    pub(crate) unsafe fn negotiate(base: *const OrtApiBase) -> Result<Self, Refused> {
        if base.is_null() {
            return Err(Refused(OrtStatusPtr::default()));
        }
        // SAFETY: `base` is valid by the contract; its two functions exist in every version.
        let (get_api, version) = unsafe { ((*base).GetApi, text(((*base).GetVersionString)())) };
        // SAFETY: GetApi accepts any number and answers NULL for a version it does not have.
        let table = |version| NonNull::new(unsafe { get_api(version) }.cast_mut());

        let refuse = |message: String| {
            let oldest = (1..=EP_VERSION).find_map(table);
            Refused(oldest.map_or_else(OrtStatusPtr::default, |api| status(api, &Error::not_implemented(message))))
        };
        let Some(minor) = minor_of_1(version).filter(|&minor| minor >= EP_VERSION) else {
            return Err(refuse(format!(
                "onnxruntime-ep-spacemit {} needs ONNX Runtime 1.{EP_VERSION} or a later 1.x, this is '{version}'",
                env!("CARGO_PKG_VERSION"),
            )));
        };
        let Some(ort) = table(EP_VERSION) else {
            return Err(refuse(format!("ONNX Runtime {version} does not offer its 1.{EP_VERSION} API")));
        };
        let ort24 = if minor >= KERNEL_VERSION { table(KERNEL_VERSION).map(NonNull::cast) } else { None };
        // SAFETY: `ort` is the table of 1.23, which has GetEpApi (1.22).
        let ep = unsafe { ((*ort.as_ptr()).GetEpApi)() }.cast_mut().cast::<OrtEpApi>();
        let Some(ep) = NonNull::new(ep) else {
            return Err(refuse(format!("ONNX Runtime {version} was built without plugin providers")));
        };
        let ep25 = (minor >= PROFILER_VERSION).then(|| ep.cast());
        Ok(Self { ort, ort24, ep, ep25 })
    }

    pub(crate) fn ort(self) -> *const OrtApi {
        self.ort.as_ptr()
    }

    /// The table with the functions of 1.24, on hosts that have them.
    pub(crate) fn ort24(self) -> Option<*const OrtApi24> {
        self.ort24.map(|table| table.as_ptr().cast_const())
    }

    /// Whether fused nodes of two calls of GetCapability get the same names, which then fails session creation:
    /// ONNX Runtime 1.23 counts them anew in each call.
    pub(crate) fn repeats_fused_names(self) -> bool {
        self.ort24.is_none()
    }

    pub(crate) fn ep(self) -> *const OrtEpApi {
        self.ep.as_ptr()
    }

    /// The table with the functions of 1.24 for kernels, on hosts that have them.
    pub(crate) fn ep24(self) -> Option<*const OrtEpApi24> {
        self.ort24.map(|_| self.ep().cast())
    }

    /// The table with the functions of 1.25, on hosts that have them.
    pub(crate) fn ep25(self) -> Option<*const OrtEpApi25> {
        self.ep25.map(|table| table.as_ptr().cast_const())
    }

    /// The newest version of `OrtEp` that both sides know.
    pub(crate) fn ep_version(self) -> u32 {
        match (self.ort24, self.ep25) {
            (_, Some(_)) => PROFILER_VERSION,
            (Some(_), None) => KERNEL_VERSION,
            (None, None) => EP_VERSION,
        }
    }

    /// Makes an `OrtStatus`, which the caller hands to ONNX Runtime.
    pub(crate) fn status(self, error: &Error) -> OrtStatusPtr {
        status(self.ort, error)
    }

    /// Turns the status of a call into this side into a `Result`, releasing it.
    pub(crate) fn check(self, status: OrtStatusPtr) -> Result<(), Error> {
        if status.0.is_null() {
            return Ok(());
        }
        // SAFETY: a non-null status is a live object that this side owns, as every OrtApi function says.
        unsafe {
            let message = text(((*self.ort()).GetErrorMessage)(status.0)).to_owned();
            ((*self.ort()).ReleaseStatus)(status.0);
            Err(Error::fail(message))
        }
    }
}

fn status(api: NonNull<OrtApi>, error: &Error) -> OrtStatusPtr {
    let message = c_string(&error.message);
    // SAFETY: CreateStatus is the first function of every version's table and copies the message.
    unsafe { ((*api.as_ptr()).CreateStatus)(error.code.to_ort(), message.as_ptr()) }
}

/// The minor version of a "1.<minor>[.<patch>]" version string.
fn minor_of_1(version: &str) -> Option<u32> {
    let mut parts = version.split(['.', '-', '+']);
    (parts.next() == Some("1")).then(|| parts.next()?.parse().ok())?
}

/// A C string of the host as text; "" for NULL, "?" if it is not UTF-8.
///
/// # Safety
/// `pointer` is NULL or a NUL-terminated string that lives for `'a`.
pub(crate) unsafe fn text<'a>(pointer: *const c_char) -> &'a str {
    if pointer.is_null() {
        return "";
    }
    // SAFETY: by the contract.
    unsafe { CStr::from_ptr(pointer) }.to_str().unwrap_or("?")
}

#[cfg(test)]
mod tests {
    use super::minor_of_1;

    #[test]
    fn versions() {
        assert_eq!(minor_of_1("1.23.2"), Some(23));
        assert_eq!(minor_of_1("1.32.0+dev"), Some(32));
        assert_eq!(minor_of_1("1.24-rc1"), Some(24));
        assert_eq!(minor_of_1("2.0.0"), None);
        assert_eq!(minor_of_1("1.x"), None);
        assert_eq!(minor_of_1(""), None);
    }
}
