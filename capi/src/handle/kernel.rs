//! Inputs and outputs of a running node.

use std::marker::PhantomData;
use std::ptr;

use ort_sys::OrtKernelContext;
use smallvec::SmallVec;

use super::{Tensor, call};
use crate::host::Host;
use crate::status::Error;

/// The arguments of one run of a node.
#[derive(Clone, Copy)]
pub(crate) struct KernelContext<'a> {
    host: Host,
    raw: *mut OrtKernelContext,
    owner: PhantomData<&'a OrtKernelContext>,
}

impl<'a> KernelContext<'a> {
    /// # Safety
    /// `raw` is live for `'a`.
    pub(crate) unsafe fn new(host: Host, raw: *mut OrtKernelContext) -> Self {
        Self { host, raw, owner: PhantomData }
    }

    pub(crate) fn input(self, index: usize) -> Result<Tensor<'a>, Error> {
        let mut value = ptr::null();
        call!(self.host, KernelContext_GetInput(self.raw, index, &mut value))?;
        if value.is_null() {
            return Err(Error::fail(format!("Spacemit: input {index} of a node is missing")));
        }
        // SAFETY: ONNX Runtime keeps a node's inputs alive and unchanged while the node runs.
        Ok(unsafe { Tensor::new(self.host, value) })
    }

    /// Allocates an output: bytes that live for `'a`. They may be those of an input where the application bound one buffer
    /// to both, and a second call for an index gives the same ones again.
    pub(crate) fn output(self, index: usize, dims: &[usize]) -> Result<*mut [u8], Error> {
        let sizes = dims.iter().map(|&dim| i64::try_from(dim));
        let sizes = sizes.collect::<Result<SmallVec<[i64; 8]>, _>>();
        let sizes = sizes.map_err(|_| Error::fail(format!("Spacemit: output {index} is too large")))?;
        let (mut value, mut data, mut len) = (ptr::null_mut(), ptr::null_mut(), 0);
        call!(self.host, KernelContext_GetOutput(self.raw, index, sizes.as_ptr(), sizes.len(), &mut value))?;
        if value.is_null() {
            return Err(Error::fail(format!("Spacemit: output {index} of a node is missing")));
        }
        call!(self.host, GetTensorSizeInBytes(value, &mut len))?;
        call!(self.host, GetTensorMutableData(value, &mut data))?;
        if len == 0 || data.is_null() {
            return Ok(ptr::slice_from_raw_parts_mut(ptr::dangling_mut(), 0));
        }
        Ok(ptr::slice_from_raw_parts_mut(data.cast(), len))
    }
}
