//! Operands of numeric operators: any of several types, f16 computed in f32, broadcasting.

use kernels::ops::broadcast::broadcast_dims;
use kernels::tensor::{DType, Dims};

use super::{Code, Decline, Lower};
use crate::plan::{Bind, BindError, Buf};

/// Type that the steps work on for operands of `dtype`.
pub(crate) fn computed(dtype: DType) -> DType {
    if dtype == DType::F16 { DType::F32 } else { dtype }
}

/// The type that inputs `0..count` share, which must pass `supported` once f16 has become f32.
pub(crate) fn shared_dtype(
    cx: &Lower<'_, '_>,
    count: usize,
    supported: impl Fn(DType) -> bool,
) -> Result<DType, Decline> {
    let dtype = cx.dtype(0)?;
    if !supported(computed(dtype)) {
        return Err(Decline::new(Code::DType, format!("input 0 of type {dtype} is not supported")));
    }
    for index in 1..count {
        cx.dtype_in(index, &[dtype])?;
    }
    Ok(dtype)
}

/// Input `index` of type `dtype`, in the type it is computed in.
pub(crate) fn input(b: &mut Bind<'_>, index: usize, dtype: DType) -> Result<Buf, BindError> {
    if computed(dtype) == DType::F32 { b.input_f32(index) } else { b.input(index) }
}

/// Output 0 of type `dtype`, in the type it is computed in.
pub(crate) fn output(b: &mut Bind<'_>, dtype: DType, dims: &[usize]) -> Result<Buf, BindError> {
    if computed(dtype) == DType::F32 { b.output_f32(0, dtype, dims) } else { b.output(0, dtype, dims) }
}

/// The dims that `operands` have together.
pub(crate) fn broadcast(operands: &[&[usize]]) -> Result<Dims, BindError> {
    broadcast_dims(operands).ok_or_else(|| BindError::new(format!("shapes {operands:?} do not broadcast")))
}
