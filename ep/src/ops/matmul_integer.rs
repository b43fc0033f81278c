use kernels::ops::matmul_int::{BatchedMatMulInt, IntBatchShape, LeftSide, MAX_K, RightSide, ZeroPoint};
use kernels::tensor::{DType, elements};

use super::matmul::{Form, Product};
use super::product::Ending;
use super::quantized_product::{Left, Output, QuantizedProduct, Right, constant_scales, granularity};
use super::{Decline, Lower, MICROSOFT, Op, OpRow, Work};
use crate::plan::{Bind, BindError};

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

/// An integer product of two tensors of any rank, both known at run time only.
struct MatMulInteger {
    signed: [bool; 2],
}

/// Inputs: A, B, a_zero_point, b_zero_point.
fn matmul_integer(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let constant = |index: usize| cx.constant(index).is_some();
    if !constant(1) || cx.rank(1) != Some(2) || (cx.has_input(3) && !constant(3)) {
        return integers_at_run_time(cx);
    }
    let (left, right) = (Left::given(cx, 0, 2, None)?, Right::lower(cx, 1, 3, false)?);
    Ok(Box::new(QuantizedProduct { target: *cx.target(), left, right, output: Output::I32 }))
}

fn integers_at_run_time(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let mut signed = [false; 2];
    for (index, signed) in signed.iter_mut().enumerate() {
        let dtype = cx.dtype_in(index, &[DType::U8, DType::I8])?;
        if cx.has_input(index + 2) {
            cx.dtype_in(index + 2, &[dtype])?;
        }
        *signed = dtype == DType::I8;
    }
    Ok(Box::new(MatMulInteger { signed }))
}

impl Op for MatMulInteger {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let product = Product::new(&b.dims(0)?, &b.dims(1)?, [Form::default(); 2])?;
        let (m, k, n) = (product.a.rows, product.a.columns, product.b.columns);
        if k > MAX_K {
            return Err(BindError::new(format!("sums over {k} products may exceed 32 bits")));
        }
        let mut left = LeftSide { signed: self.signed[0], zero_point: ZeroPoint::Absent };
        let mut inputs = vec![b.input(0)?, b.input(1)?];
        if b.has_input(2) {
            left.zero_point = granularity(&b.dims(2)?, m * product.offsets.len())?;
            inputs.push(b.input(2)?);
        }
        if b.has_input(3) {
            let dims = b.dims(3)?;
            if ![1, n].contains(&elements(&dims)) {
                let shape = dims.as_slice();
                return Err(BindError::new(format!("a zero point of shape {shape:?} does not fit {n} columns")));
            }
            inputs.push(b.input(3)?);
        }
        let right = RightSide { signed: self.signed[1], zero_point: b.has_input(3) };
        let y = b.output(0, DType::I32, &product.out)?;
        let shape = IntBatchShape { m, k, n, offsets: product.offsets };
        b.step(BatchedMatMulInt::new(b.target(), shape, left, right), &inputs, &[y]);
        Ok(())
    }
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
