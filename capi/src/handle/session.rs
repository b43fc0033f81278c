//! Devices, key-value pairs and session options.

use std::ffi::CStr;
use std::marker::PhantomData;
use std::ptr;

use ort_sys::{OrtHardwareDevice, OrtHardwareDeviceType, OrtKeyValuePairs, OrtSessionOptions};

use super::call;
use crate::host::{Host, text};
use crate::status::Error;

/// Key-value pairs that this side owns.
pub(crate) struct KeyValuePairs {
    host: Host,
    raw: *mut OrtKeyValuePairs,
}

impl KeyValuePairs {
    pub(crate) fn new(host: Host, pairs: &[(&CStr, &CStr)]) -> Self {
        let mut raw = ptr::null_mut();
        // SAFETY: the functions exist since 1.22 and copy the strings.
        unsafe {
            ((*host.ort()).CreateKeyValuePairs)(&mut raw);
            for (key, value) in pairs {
                ((*host.ort()).AddKeyValuePair)(raw, key.as_ptr(), value.as_ptr());
            }
        }
        Self { host, raw }
    }

    pub(crate) fn raw(&self) -> *const OrtKeyValuePairs {
        self.raw
    }

    pub(crate) fn pairs(&self) -> Vec<(&str, &str)> {
        let (mut keys, mut values, mut count) = (ptr::null(), ptr::null(), 0);
        // SAFETY: the object is live; keys and values are arrays of `count` strings that live as long as it does.
        unsafe {
            ((*self.host.ort()).GetKeyValuePairs)(self.raw, &mut keys, &mut values, &mut count);
            (0..count).map(|i| (text(*keys.add(i)), text(*values.add(i)))).collect()
        }
    }
}

impl Drop for KeyValuePairs {
    fn drop(&mut self) {
        // SAFETY: owned, and released only here.
        unsafe { ((*self.host.ort()).ReleaseKeyValuePairs)(self.raw) };
    }
}

/// The options of the session that is being created.
#[derive(Clone, Copy)]
pub(crate) struct SessionOptions<'a> {
    host: Host,
    raw: *const OrtSessionOptions,
    owner: PhantomData<&'a OrtSessionOptions>,
}

impl SessionOptions<'_> {
    /// # Safety
    /// `raw` is live for `'a`.
    pub(crate) unsafe fn new(host: Host, raw: *const OrtSessionOptions) -> Self {
        Self { host, raw, owner: PhantomData }
    }

    /// All configuration entries, those of other providers included.
    pub(crate) fn config_entries(self) -> Result<KeyValuePairs, Error> {
        let mut raw = ptr::null_mut();
        call!(self.host, GetSessionOptionsConfigEntries(self.raw, &mut raw))?;
        Ok(KeyValuePairs { host: self.host, raw })
    }
}

/// The hardware that ONNX Runtime found.
pub(crate) struct Devices<'a> {
    host: Host,
    raw: &'a [*const OrtHardwareDevice],
}

impl<'a> Devices<'a> {
    /// # Safety
    /// `devices` is an array of `count` live devices for `'a`.
    pub(crate) unsafe fn new(host: Host, devices: *const *const OrtHardwareDevice, count: usize) -> Self {
        let none = devices.is_null() || count == 0;
        // SAFETY: by the contract.
        let raw = if none { &[][..] } else { unsafe { std::slice::from_raw_parts(devices, count) } };
        Self { host, raw }
    }

    /// The first CPU; its memory is where this provider computes.
    pub(crate) fn cpu(&self) -> Option<*const OrtHardwareDevice> {
        // The host answers with an enum that may have grown: read it as the number it is.
        type KindOf<T> = unsafe extern "system" fn(*const OrtHardwareDevice) -> T;
        // SAFETY: the function exists since 1.22; the enum is represented as an i32.
        let kind_of = unsafe {
            std::mem::transmute::<KindOf<OrtHardwareDeviceType>, KindOf<i32>>((*self.host.ort()).HardwareDevice_Type)
        };
        let cpu = OrtHardwareDeviceType::OrtHardwareDeviceType_CPU as i32;
        // SAFETY: live devices by `new`'s contract.
        self.raw.iter().copied().find(|&device| unsafe { kind_of(device) } == cpu)
    }
}
