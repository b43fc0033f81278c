//! Constants of half bytes, a byte an element.

use std::sync::Arc;

use kernels::mem::AlignedBuf;
use kernels::tensor::DType;

use super::{Code, Decline, Lower};
use crate::ir::Tensor;

/// Inputs 0 and 2 of a `DequantizeLinear`, in i8 or u8.
pub(super) struct Nibbles {
    pub dtype: DType,
    pub x: Arc<AlignedBuf>,
    /// Empty where there are none.
    pub zero_points: Arc<AlignedBuf>,
}

impl Nibbles {
    /// `None` when input 0 is not a constant of half bytes.
    pub fn lower(cx: &Lower<'_, '_>) -> Result<Option<Self>, Decline> {
        let Some(x) = cx.constant(0).filter(|tensor| tensor.dtype.is_nibble()) else { return Ok(None) };
        let zero_points = match (cx.has_input(2), cx.constant(2)) {
            (false, _) => Arc::new(AlignedBuf::zeroed(0)),
            (true, Some(zero_points)) if zero_points.dtype == x.dtype => unpack(cx, zero_points),
            (true, _) => return Err(Decline::new(Code::Constant, "zero points of half bytes have to be constant")),
        };
        let dtype = if x.dtype == DType::I4 { DType::I8 } else { DType::U8 };
        Ok(Some(Self { dtype, x: unpack(cx, x), zero_points }))
    }
}

fn unpack(cx: &Lower<'_, '_>, tensor: &Tensor<'_>) -> Arc<AlignedBuf> {
    cx.packed(
        &[tensor],
        "bytes",
        || AlignedBuf::zeroed(tensor.elements()),
        || {
            let element = |index: usize| {
                let code = tensor.bytes()[index / 2] >> (index % 2 * 4) & 15;
                if tensor.dtype == DType::I4 && code > 7 { code | 0xf0 } else { code }
            };
            AlignedBuf::copy_of(&(0..tensor.elements()).map(element).collect::<Vec<u8>>())
        },
    )
}
