//! Tensors and their types.

use std::marker::PhantomData;
use std::ptr;

use ort_sys::{OrtTensorTypeAndShapeInfo, OrtTypeInfo, OrtValue};

use super::{call, name};
use crate::host::Host;
use crate::status::Error;

/// A declared tensor type.
pub(crate) struct TensorType<'a> {
    /// `ONNXTensorElementDataType` as a number, since newer hosts have types this crate does not know.
    pub(crate) element: i32,
    /// Sizes, or names of symbolic sizes ("" if unnamed); `None` if the rank is unknown.
    pub(crate) dims: Option<Vec<Result<usize, &'a str>>>,
}

impl<'a> TensorType<'a> {
    /// `None` unless the type is that of a dense tensor.
    ///
    /// # Safety
    /// `info` is live for `'a`.
    pub(super) unsafe fn read(host: Host, info: *const OrtTypeInfo) -> Result<Option<Self>, Error> {
        let mut kind = 0_i32;
        call!(host, GetOnnxTypeFromTypeInfo(info, (&raw mut kind).cast()))?;
        if kind != ort_sys::ONNXType::ONNX_TYPE_TENSOR as i32 {
            return Ok(None);
        }
        let mut tensor = ptr::null();
        call!(host, CastTypeInfoToTensorInfo(info, &mut tensor))?;
        if tensor.is_null() {
            return Ok(None);
        }
        let (mut element, mut rank) = (0_i32, 0);
        call!(host, GetTensorElementType(tensor, (&raw mut element).cast()))?;
        call!(host, GetDimensionsCount(tensor, &mut rank))?;
        let has_shape = match host.ort24() {
            // SAFETY: `tensor` is live, and the function exists from 1.24 on.
            Some(api) => unsafe { ((*api).TensorTypeAndShape_HasShape)(tensor) },
            // 1.23 reports a scalar and an unknown rank alike.
            None => rank > 0,
        };
        if !has_shape {
            return Ok(Some(Self { element, dims: None }));
        }
        let (mut sizes, mut symbols) = (vec![0; rank], vec![ptr::null(); rank]);
        call!(host, GetDimensions(tensor, sizes.as_mut_ptr(), rank))?;
        call!(host, GetSymbolicDimensions(tensor, symbols.as_mut_ptr(), rank))?;
        let dim = |(size, symbol): (i64, _)| match usize::try_from(size) {
            Ok(size) => Ok(Ok(size)),
            // SAFETY: the symbol's name lives as long as the type.
            Err(_) => unsafe { name(symbol) }.map(Err),
        };
        let dims = sizes.into_iter().zip(symbols).map(dim).collect::<Result<_, Error>>()?;
        Ok(Some(Self { element, dims: Some(dims) }))
    }
}

/// A tensor owned by ONNX Runtime.
#[derive(Clone, Copy)]
pub(crate) struct Tensor<'a> {
    host: Host,
    raw: *const OrtValue,
    owner: PhantomData<&'a OrtValue>,
}

impl<'a> Tensor<'a> {
    /// # Safety
    /// `raw` is a live value for `'a`, and nobody writes to it during `'a`.
    pub(crate) unsafe fn new(host: Host, raw: *const OrtValue) -> Self {
        Self { host, raw, owner: PhantomData }
    }

    /// The element type (`ONNXTensorElementDataType`); passes each dimension to `push`.
    pub(crate) fn element_and_dims(&self, mut push: impl FnMut(usize)) -> Result<i32, Error> {
        let (mut element, mut dims, mut rank) = (0, ptr::null(), 0);
        let Some(api) = self.host.ort24() else {
            return self.element_and_dims_23(push);
        };
        // SAFETY: the value is live; the out pointers are live locals.
        let status =
            unsafe { ((*api).GetTensorElementTypeAndShapeDataReference)(self.raw, &mut element, &mut dims, &mut rank) };
        self.host.check(status)?;
        for axis in 0..rank {
            // SAFETY: the host says that `dims` has `rank` elements; they live as long as the value.
            push(size(unsafe { *dims.add(axis) })?);
        }
        Ok(element)
    }

    fn element_and_dims_23(&self, mut push: impl FnMut(usize)) -> Result<i32, Error> {
        let mut raw = ptr::null_mut();
        call!(self.host, GetTensorTypeAndShape(self.raw, &mut raw))?;
        let info = OwnedShape { host: self.host, raw };
        let (mut element, mut rank) = (0_i32, 0);
        call!(self.host, GetTensorElementType(info.raw, (&raw mut element).cast()))?;
        call!(self.host, GetDimensionsCount(info.raw, &mut rank))?;
        let mut dims = smallvec::SmallVec::<[i64; 8]>::from_elem(0, rank);
        call!(self.host, GetDimensions(info.raw, dims.as_mut_ptr(), rank))?;
        for dim in dims {
            push(size(dim)?);
        }
        Ok(element)
    }

    /// The elements in memory order. An error for strings, whose elements are not plain bytes.
    pub(crate) fn bytes(&self) -> Result<&'a [u8], Error> {
        let (mut data, mut len) = (ptr::null(), 0);
        call!(self.host, GetTensorSizeInBytes(self.raw, &mut len))?;
        call!(self.host, GetTensorData(self.raw, &mut data))?;
        if len == 0 || data.is_null() {
            return Ok(&[]);
        }
        // SAFETY: the host says that `data` holds `len` bytes; nobody writes to them by `new`'s contract.
        Ok(unsafe { std::slice::from_raw_parts(data.cast(), len) })
    }
}

/// A dimension of a tensor that exists; never negative.
fn size(dim: i64) -> Result<usize, Error> {
    usize::try_from(dim).map_err(|_| Error::fail(format!("Spacemit: a tensor has the dimension {dim}")))
}

/// A tensor that this side has to release.
pub(crate) struct OwnedTensor {
    host: Host,
    raw: *mut OrtValue,
}

impl OwnedTensor {
    /// # Safety
    /// `raw` is a live value that the caller owns.
    pub(super) unsafe fn new(host: Host, raw: *mut OrtValue) -> Self {
        Self { host, raw }
    }

    pub(crate) fn get(&self) -> Tensor<'_> {
        // SAFETY: the value lives until drop and nobody else knows it.
        unsafe { Tensor::new(self.host, self.raw) }
    }
}

impl Drop for OwnedTensor {
    fn drop(&mut self) {
        // SAFETY: owned by `new`'s contract and released only here.
        unsafe { ((*self.host.ort()).ReleaseValue)(self.raw) };
    }
}

struct OwnedShape {
    host: Host,
    raw: *mut OrtTensorTypeAndShapeInfo,
}

impl Drop for OwnedShape {
    fn drop(&mut self) {
        // SAFETY: GetTensorTypeAndShape gave ownership; released only here.
        unsafe { ((*self.host.ort()).ReleaseTensorTypeAndShapeInfo)(self.raw) };
    }
}
