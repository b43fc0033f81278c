//! Safe views of the objects ONNX Runtime hands to a callback.
//!
//! A handle is made only from a pointer ONNX Runtime passed in or answered with, and its lifetime `'a` ends with the
//! callback (or the owner) during which that pointer is valid. So every method may pass it back.

mod attribute;
mod graph;
mod kernel;
mod kernel_info;
mod session;
mod value;

use attribute::Attribute;
pub(crate) use attribute::AttributeValue;
pub(crate) use graph::{Graph, Node, ValueInfo};
pub(crate) use kernel::KernelContext;
pub(crate) use kernel_info::KernelInfo;
pub(crate) use session::{Devices, KeyValuePairs, SessionOptions};
pub(crate) use value::{OwnedTensor, Tensor, TensorType};

use std::ffi::{CStr, c_char};

use crate::status::Error;

/// Calls a status-returning function of the host's 1.23 table.
macro_rules! call {
    ($host:expr, $function:ident($($argument:expr),* $(,)?)) => {
        // SAFETY: handles hold pointers that are valid for their lifetime, out pointers are live locals, and every
        // function of the 1.23 table exists (checked when the library was registered).
        $host.check(unsafe { ((*$host.ort()).$function)($($argument),*) })
    };
}

/// Reads a counted array of object pointers: first its length, then its elements.
macro_rules! list {
    ($host:expr, $count:ident, $get:ident, $object:expr) => {{
        let mut count = 0;
        $crate::handle::call!($host, $count($object, &mut count)).and_then(|()| {
            let mut items = vec![std::ptr::null(); count];
            $crate::handle::call!($host, $get($object, items.as_mut_ptr(), count)).map(|()| items)
        })
    }};
}

/// Reads a string property of a handle.
macro_rules! text {
    ($handle:expr, $function:ident) => {{
        let mut text = std::ptr::null();
        $crate::handle::call!($handle.host, $function($handle.raw, &mut text))?;
        // SAFETY: the host's string lives as long as the object.
        unsafe { $crate::handle::name(text) }
    }};
}

pub(crate) use {call, list, text};

/// A name of the host as text.
///
/// # Safety
/// `pointer` is NULL or a NUL-terminated string that lives for `'a`.
unsafe fn name<'a>(pointer: *const c_char) -> Result<&'a str, Error> {
    if pointer.is_null() {
        return Ok("");
    }
    // SAFETY: by the contract.
    let name = unsafe { CStr::from_ptr(pointer) };
    name.to_str().map_err(|_| Error::fail(format!("Spacemit: the name {name:?} is not UTF-8")))
}
