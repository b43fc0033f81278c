//! Rotary embedding as fusion rules make it: domain `spacemit`, `RotateHalf`, since version 1.
//!
//! `Y = X * cos + (-X2, X1) * sin` where the rows of `X` are `(X1, X2)`, two halves.
//!
//! Inputs `X`, `cos` and `sin`, `[.., width]` of f32 or f16, broadcast with each other but for the width, which is even.
//! Output `Y`: what they broadcast to.

use kernels::ops::rotate_half::RotateHalf as Driver;
use kernels::tensor::DType;

use super::{Decline, FUSED, Lower, Op, OpRow, Work, numeric};
use crate::plan::{Bind, BindError};

pub const ROWS: &[OpRow] = &[OpRow {
    domain: FUSED,
    name: "RotateHalf",
    versions: 1..=1,
    inputs: 3..=3,
    outputs: 1..=1,
    attrs: &[],
    work: Work::Light,
    lower,
}];

struct RotateHalf {
    dtype: DType,
}

fn lower(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let dtype = cx.float_input(0)?;
    for index in [1, 2] {
        cx.dtype_in(index, &[dtype])?;
    }
    Ok(Box::new(RotateHalf { dtype }))
}

impl Op for RotateHalf {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let (x, cos, sin) = (b.dims(0)?, b.dims(1)?, b.dims(2)?);
        let operands = [x.as_slice(), cos.as_slice(), sin.as_slice()];
        let width = x.last().copied().unwrap_or(1);
        if !width.is_multiple_of(2) || operands.iter().any(|dims| dims.last() != Some(&width)) {
            return Err(BindError::new(format!("operands {operands:?} have not one even width")));
        }
        let dims = numeric::broadcast(&operands)?;
        let inputs = [b.input_f32(0)?, b.input_f32(1)?, b.input_f32(2)?];
        let y = b.output_f32(0, self.dtype, &dims)?;
        b.step(Driver::new(operands), &inputs, &[y]);
        Ok(())
    }
}
