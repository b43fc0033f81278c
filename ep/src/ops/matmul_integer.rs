use kernels::tensor::DType;

use super::product::Ending;
use super::quantized_product::{Left, Output, QuantizedProduct, Right, constant_scales};
use super::{Decline, Lower, MICROSOFT, Op, OpRow, Work};

pub const ROWS: &[OpRow] = &[
    OpRow {
        domain: "",
        name: "MatMulInteger",
        versions: 10..=28,
        inputs: 2..=4,
        outputs: 1..=1,
        attrs: &[],
        work: Work::Heavy,
        lower: matmul_integer,
    },
    OpRow {
        domain: MICROSOFT,
        name: "MatMulIntegerToFloat",
        versions: 1..=1,
        inputs: 4..=7,
        outputs: 1..=1,
        attrs: &[],
        work: Work::Heavy,
        lower: matmul_integer_to_float,
    },
    OpRow {
        domain: MICROSOFT,
        name: "DynamicQuantizeMatMul",
        versions: 1..=1,
        inputs: 3..=5,
        outputs: 1..=1,
        attrs: &[],
        work: Work::Heavy,
        lower: dynamic_quantize_matmul,
    },
];

fn matmul_integer(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let (left, right) = (Left::given(cx, 0, 2, None)?, Right::lower(cx, 1, 3, false)?);
    Ok(Box::new(QuantizedProduct { target: *cx.target(), left, right, output: Output::I32 }))
}

/// Inputs: A, B, a_scale, b_scale, a_zero_point, b_zero_point, bias.
fn matmul_integer_to_float(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    cx.dtype_in(2, &[DType::F32])?;
    let (left, right) = (Left::given(cx, 0, 4, Some(2))?, Right::lower(cx, 1, 5, false)?);
    let output = scaled(cx, &right, 3, 6)?;
    Ok(Box::new(QuantizedProduct { target: *cx.target(), left, right, output }))
}

/// Inputs: A (f32), B, b_scale, b_zero_point, bias.
fn dynamic_quantize_matmul(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    cx.dtype_in(0, &[DType::F32])?;
    let right = Right::lower(cx, 1, 3, false)?;
    let output = scaled(cx, &right, 2, 4)?;
    Ok(Box::new(QuantizedProduct { target: *cx.target(), left: Left::Dynamic, right, output }))
}

fn scaled(cx: &Lower<'_, '_>, right: &Right, b_scale: usize, bias: usize) -> Result<Output, Decline> {
    if cx.has_input(bias) {
        cx.dtype_in(bias, &[DType::F32])?;
    }
    let b_scales = constant_scales(cx, b_scale, right.weights.n())?;
    let ending = Ending { bias: cx.has_input(bias).then_some(bias), ..Ending::default() };
    Ok(Output::F32 { b_scales, ending })
}

#[cfg(test)]
mod tests;
