//! Errors of this crate and their form at the C boundary.

use std::ffi::CString;
use std::fmt;

use ort_sys::OrtErrorCode;

/// What an `OrtStatus` can say about a failure.
///
/// `ORT_EP_FAIL` is left out on purpose: ONNX Runtime's Python API answers it by silently running on the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    Fail,
    InvalidArgument,
    NotImplemented,
}

impl Code {
    pub(crate) fn to_ort(self) -> OrtErrorCode {
        match self {
            Code::Fail => OrtErrorCode::ORT_FAIL,
            Code::InvalidArgument => OrtErrorCode::ORT_INVALID_ARGUMENT,
            Code::NotImplemented => OrtErrorCode::ORT_NOT_IMPLEMENTED,
        }
    }
}

/// A failure on its way to becoming an `OrtStatus`.
#[derive(Clone, Debug)]
pub(crate) struct Error {
    pub(crate) code: Code,
    pub(crate) message: String,
}

impl Error {
    pub(crate) fn fail(message: impl Into<String>) -> Self {
        Self { code: Code::Fail, message: message.into() }
    }

    pub(crate) fn invalid_argument(message: impl Into<String>) -> Self {
        Self { code: Code::InvalidArgument, message: message.into() }
    }

    pub(crate) fn not_implemented(message: impl Into<String>) -> Self {
        Self { code: Code::NotImplemented, message: message.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<ep::Error> for Error {
    fn from(error: ep::Error) -> Self {
        Error::fail(error.to_string())
    }
}

/// `text` as a C string; an interior NUL byte, which C cannot carry, becomes a space.
pub(crate) fn c_string(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}
