//! What a registered kernel is made from.

use std::ffi::c_char;
use std::marker::PhantomData;
use std::ptr;

use ort_sys::{OrtKernelInfo, OrtStatusPtr, OrtTypeInfo};

use super::{AttributeValue, OwnedTensor, Tensor, TensorType, call};
use crate::host::Host;
use crate::status::{Error, c_string};

/// The node that a kernel will run: its operator, types, attributes and constants.
#[derive(Clone, Copy)]
pub(crate) struct KernelInfo<'a> {
    host: Host,
    raw: *const OrtKernelInfo,
    owner: PhantomData<&'a OrtKernelInfo>,
}

/// A type that this side has to release.
pub(crate) struct OwnedType {
    host: Host,
    raw: *mut OrtTypeInfo,
}

impl<'a> KernelInfo<'a> {
    /// # Safety
    /// `raw` is live for `'a`.
    pub(crate) unsafe fn new(host: Host, raw: *const OrtKernelInfo) -> Self {
        Self { host, raw, owner: PhantomData }
    }

    pub(crate) fn node_name(self) -> Result<String, Error> {
        self.text(|text, len| call!(self.host, KernelInfo_GetNodeName(self.raw, text, len)))
    }

    /// Version of the operator set that last changed the operator.
    pub(crate) fn since_version(self) -> Result<i32, Error> {
        let mut version = 0;
        let api = self.host.ort24().ok_or_else(|| Error::fail("Spacemit: kernels need ONNX Runtime 1.24"))?;
        // SAFETY: the info is live, and the function exists from 1.24 on.
        self.host.check(unsafe { ((*api).KernelInfo_GetOperatorSinceVersion)(self.raw, &mut version) })?;
        Ok(version)
    }

    /// Names by position; `None` where an optional input is left out.
    pub(crate) fn inputs(self) -> Result<Vec<Option<String>>, Error> {
        let mut count = 0;
        call!(self.host, KernelInfo_GetInputCount(self.raw, &mut count))?;
        let name = |index| self.text(|text, len| call!(self.host, KernelInfo_GetInputName(self.raw, index, text, len)));
        (0..count).map(|index| Ok(Some(name(index)?).filter(|name| !name.is_empty()))).collect()
    }

    /// Names by position; `None` where an optional output is left out.
    pub(crate) fn outputs(self) -> Result<Vec<Option<String>>, Error> {
        let mut count = 0;
        call!(self.host, KernelInfo_GetOutputCount(self.raw, &mut count))?;
        let name =
            |index| self.text(|text, len| call!(self.host, KernelInfo_GetOutputName(self.raw, index, text, len)));
        (0..count).map(|index| Ok(Some(name(index)?).filter(|name| !name.is_empty()))).collect()
    }

    pub(crate) fn input_type(self, index: usize) -> Result<OwnedType, Error> {
        let mut raw = ptr::null_mut();
        call!(self.host, KernelInfo_GetInputTypeInfo(self.raw, index, &mut raw))?;
        Ok(OwnedType { host: self.host, raw })
    }

    pub(crate) fn output_type(self, index: usize) -> Result<OwnedType, Error> {
        let mut raw = ptr::null_mut();
        call!(self.host, KernelInfo_GetOutputTypeInfo(self.raw, index, &mut raw))?;
        Ok(OwnedType { host: self.host, raw })
    }

    /// The content of an input that is a constant of the kernel's own graph.
    pub(crate) fn constant(self, index: usize) -> Result<Option<Tensor<'a>>, Error> {
        let (mut constant, mut value) = (0, ptr::null());
        call!(self.host, KernelInfoGetConstantInput_tensor(self.raw, index, &mut constant, &mut value))?;
        // SAFETY: a constant outlives the making of the kernels that read it and does not change.
        Ok((constant != 0 && !value.is_null()).then(|| unsafe { Tensor::new(self.host, value) }))
    }

    /// The attribute called `name`; `None` when the node does not have it, or has it in a kind that kernels cannot read.
    ///
    /// The host tells no kind, but refuses to read a value as one of another kind. A list that is empty may have been
    /// of any kind.
    pub(crate) fn attribute(self, name: &str) -> Result<Option<AttributeValue>, Error> {
        let name = c_string(name);
        let (name, mut int, mut float) = (name.as_ptr(), 0, 0.0);
        if call!(self.host, KernelInfoGetAttribute_int64(self.raw, name, &mut int)).is_ok() {
            return Ok(Some(AttributeValue::Int(int)));
        }
        if call!(self.host, KernelInfoGetAttribute_float(self.raw, name, &mut float)).is_ok() {
            return Ok(Some(AttributeValue::Float(float)));
        }
        let string = self.text(|text, len| call!(self.host, KernelInfoGetAttribute_string(self.raw, name, text, len)));
        if let Ok(string) = string {
            return Ok(Some(AttributeValue::String(string)));
        }
        if let Some(tensor) = self.tensor(name)? {
            return Ok(Some(AttributeValue::Tensor(tensor)));
        }
        // SAFETY: the functions exist since 1.10.
        let (floats, ints) = unsafe {
            let ort = &raw const *self.host.ort();
            ((*ort).KernelInfoGetAttributeArray_float, (*ort).KernelInfoGetAttributeArray_int64)
        };
        Ok(match (self.array(name, floats), self.array(name, ints)) {
            (Some(floats), _) if !floats.is_empty() => Some(AttributeValue::Floats(floats)),
            (_, Some(ints)) => Some(AttributeValue::Ints(ints)),
            _ => None,
        })
    }

    fn tensor(self, name: *const c_char) -> Result<Option<OwnedTensor>, Error> {
        let (mut allocator, mut value) = (ptr::null_mut(), ptr::null_mut());
        call!(self.host, GetAllocatorWithDefaultOptions(&mut allocator))?;
        let read = call!(self.host, KernelInfoGetAttribute_tensor(self.raw, name, allocator, &mut value));
        // SAFETY: the function gives ownership when it succeeds.
        Ok(read.is_ok().then(|| unsafe { OwnedTensor::new(self.host, value) }))
    }

    /// The elements of a list; `None` if there is no such list.
    fn array<T: Copy + Default>(
        self,
        name: *const c_char,
        get: unsafe extern "system" fn(*const OrtKernelInfo, *const c_char, *mut T, *mut usize) -> OrtStatusPtr,
    ) -> Option<Vec<T>> {
        let mut len = 0;
        // SAFETY: the info is live and the name a C string; without a buffer the function tells the length.
        self.host.check(unsafe { get(self.raw, name, ptr::null_mut(), &mut len) }).ok()?;
        let mut items = vec![T::default(); len];
        // SAFETY: as above, and the buffer has room for `len` elements.
        self.host.check(unsafe { get(self.raw, name, items.as_mut_ptr(), &mut len) }).ok()?;
        Some(items)
    }

    /// A string that `get` copies, NUL included, or whose length it tells when there is no buffer.
    fn text(self, get: impl Fn(*mut c_char, &mut usize) -> Result<(), Error>) -> Result<String, Error> {
        let mut len = 0;
        get(ptr::null_mut(), &mut len)?;
        let mut bytes = vec![0u8; len];
        get(bytes.as_mut_ptr().cast(), &mut len)?;
        bytes.truncate(bytes.iter().position(|&byte| byte == 0).unwrap_or(len));
        String::from_utf8(bytes).map_err(|_| Error::fail("Spacemit: a text of a node is not UTF-8"))
    }
}

impl OwnedType {
    /// `None` unless the type is that of a dense tensor.
    pub(crate) fn get(&self) -> Result<Option<TensorType<'_>>, Error> {
        // SAFETY: the type lives until drop.
        unsafe { TensorType::read(self.host, self.raw) }
    }
}

impl Drop for OwnedType {
    fn drop(&mut self) {
        // SAFETY: owned, and released only here.
        unsafe { ((*self.host.ort()).ReleaseTypeInfo)(self.raw) };
    }
}
