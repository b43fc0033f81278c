use std::borrow::Cow;
use std::sync::Arc;

use kernels::mem::AlignedBuf;
use kernels::tensor::{DType, Dims, Element, checked_elements, elements};

/// Contents of a constant: lent by ONNX Runtime for the length of a call, or our own.
#[derive(Clone, Debug)]
pub enum Bytes<'w> {
    Borrowed(&'w [u8]),
    Owned(Arc<AlignedBuf>),
}

/// A constant tensor, row-major.
#[derive(Clone, Debug)]
pub struct Tensor<'w> {
    pub dtype: DType,
    pub dims: Dims,
    pub bytes: Bytes<'w>,
}

impl<'w> Tensor<'w> {
    /// A tensor over somebody else's bytes, which need no alignment.
    pub fn borrowed(dtype: DType, dims: &[usize], bytes: &'w [u8]) -> Self {
        Self { dtype, dims: Dims::from_slice(dims), bytes: Bytes::Borrowed(bytes) }
    }

    /// A tensor with its own copy of `values`.
    pub fn owned<T: Element>(dims: &[usize], values: &[T]) -> Self {
        let bytes = AlignedBuf::copy_of(bytemuck::cast_slice(values));
        Self { dtype: T::DTYPE, dims: Dims::from_slice(dims), bytes: Bytes::Owned(Arc::new(bytes)) }
    }

    /// The same tensor with its own copy of the bytes.
    pub fn into_owned(self) -> Tensor<'static> {
        let bytes = match self.bytes {
            Bytes::Borrowed(bytes) => Arc::new(AlignedBuf::copy_of(bytes)),
            Bytes::Owned(bytes) => bytes,
        };
        Tensor { dtype: self.dtype, dims: self.dims, bytes: Bytes::Owned(bytes) }
    }

    pub fn bytes(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Borrowed(bytes) => bytes,
            Bytes::Owned(bytes) => bytes,
        }
    }

    /// Number of elements.
    pub fn elements(&self) -> usize {
        elements(&self.dims)
    }

    /// Whether the byte count is what shape and type ask for.
    pub fn is_consistent(&self) -> bool {
        checked_elements(&self.dims).and_then(|n| self.dtype.bytes(n)) == Some(self.bytes().len())
    }

    /// The elements as `T`, copied only when they are not aligned; `None` when the tensor has another type.
    pub fn values<T: Element>(&self) -> Option<Cow<'_, [T]>> {
        if self.dtype != T::DTYPE {
            return None;
        }
        Some(match bytemuck::try_cast_slice(self.bytes()) {
            Ok(values) => Cow::Borrowed(values),
            Err(_) => Cow::Owned(bytemuck::pod_collect_to_vec(self.bytes())),
        })
    }

    /// The elements of an i64 or i32 tensor.
    pub fn to_i64s(&self) -> Option<Vec<i64>> {
        match self.dtype {
            DType::I64 => self.values::<i64>().map(Cow::into_owned),
            DType::I32 => Some(self.values::<i32>()?.iter().map(|&value| value.into()).collect()),
            _ => None,
        }
    }

    /// The elements of an f32 or f16 tensor.
    pub fn to_f32s(&self) -> Option<Vec<f32>> {
        match self.dtype {
            DType::F32 => self.values::<f32>().map(Cow::into_owned),
            DType::F16 => Some(self.values::<half::f16>()?.iter().map(|value| value.to_f32()).collect()),
            _ => None,
        }
    }

    /// The only element of an f32 or f16 tensor with one element.
    pub fn scalar_f32(&self) -> Option<f32> {
        match self.to_f32s()?.as_slice() {
            [value] => Some(*value),
            _ => None,
        }
    }
}
