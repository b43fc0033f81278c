//! Products of a quantised left-hand side with a constant 8-bit weight.

use std::sync::Arc;

use kernels::isa::Target;
use kernels::ops::matmul_int::{IntOutput, LeftSide, MAX_K, MatMulInt, ZeroPoint};
use kernels::ops::quantize::{DynamicQuantize, MinMax};
use kernels::pack::PackedWeights;
use kernels::tensor::{DType, elements};

use super::linear::output_dims;
use super::product::{self, Ending};
use super::{Code, Decline, Lower, Op};
use crate::ir::Tensor;
use crate::plan::{Bind, BindError, Buf};

pub(super) struct QuantizedProduct {
    pub target: Target,
    pub left: Left,
    pub right: Right,
    pub output: Output,
}

/// The left-hand side.
pub(super) enum Left {
    /// Quantised already; the numbers are inputs.
    Given { input: usize, signed: bool, zero_point: Option<usize>, scale: Option<usize> },
    /// f32 input 0, quantised dynamically to u8.
    Dynamic,
}

/// The packed weight.
pub(super) struct Right {
    pub weights: Arc<PackedWeights>,
    pub zero_points: Vec<i32>,
    absorbed: [usize; 1],
}

pub(super) enum Output {
    I32,
    F32 { b_scales: Vec<f32>, ending: Ending },
}

impl Left {
    /// A u8 or i8 input with an optional zero point and, for f32 outputs, a scale.
    pub fn given(cx: &Lower<'_, '_>, input: usize, zero_point: usize, scale: Option<usize>) -> Result<Self, Decline> {
        let dtype = cx.dtype_in(input, &[DType::U8, DType::I8])?;
        if cx.has_input(zero_point) {
            cx.dtype_in(zero_point, &[dtype])?;
        }
        let zero_point = cx.has_input(zero_point).then_some(zero_point);
        Ok(Self::Given { input, signed: dtype == DType::I8, zero_point, scale })
    }

    /// Buffers of the left-hand side, in the order of [`MatMulInt`]'s inputs.
    fn bind(&self, b: &mut Bind<'_>, m: usize) -> Result<(LeftSide, Vec<Buf>), BindError> {
        match *self {
            Self::Given { input, signed, zero_point, scale } => {
                let mut buffers = vec![b.input(input)?];
                let mut left = LeftSide { signed, zero_point: ZeroPoint::Absent };
                if let Some(zero_point) = zero_point {
                    left.zero_point = granularity(&b.dims(zero_point)?, m)?;
                    buffers.push(b.input(zero_point)?);
                }
                if let Some(scale) = scale {
                    let dims = b.dims(scale)?;
                    if elements(&dims) != 1 {
                        let shape = dims.as_slice();
                        return Err(BindError::new(format!("a scale of shape {shape:?} is not one number")));
                    }
                    buffers.push(b.input(scale)?);
                }
                Ok((left, buffers))
            }
            Self::Dynamic => {
                let len = elements(&b.dims(0)?);
                let x = b.input(0)?;
                let extremes = b.temp(DType::F32, MinMax::extremes(len))?;
                let quantized = [b.temp(DType::U8, len)?, b.temp(DType::F32, 1)?, b.temp(DType::U8, 1)?];
                b.step(MinMax::new(len), &[x], &[extremes]);
                b.step(DynamicQuantize::new(len), &[x, extremes], &quantized);
                let [y, scale, zero_point] = quantized;
                Ok((LeftSide { signed: false, zero_point: ZeroPoint::Tensor }, vec![y, zero_point, scale]))
            }
        }
    }
}

/// One zero point, or one for each of `m` rows.
pub(super) fn granularity(dims: &[usize], m: usize) -> Result<ZeroPoint, BindError> {
    match elements(dims) {
        1 => Ok(ZeroPoint::Tensor),
        count if count == m => Ok(ZeroPoint::Rows),
        _ => Err(BindError::new(format!("a zero point of shape {dims:?} does not fit {m} rows"))),
    }
}

impl Right {
    /// Packs constant input `index`; its zero points, input `zero_point`, must be constant too.
    pub fn lower(cx: &Lower<'_, '_>, index: usize, zero_point: usize, transposed: bool) -> Result<Self, Decline> {
        let dtype = cx.dtype_in(index, &[DType::U8, DType::I8])?;
        let b = product::constant_matrix(cx, index)
            .ok_or_else(|| Decline::new(Code::Constant, format!("input {index} is not a constant matrix")))?;
        let weights = product::pack_i8(cx, b, transposed);
        if weights.k() > MAX_K {
            let depth = weights.k();
            return Err(Decline::new(Code::Input, format!("sums over {depth} products may exceed 32 bits")));
        }
        let mut zero_points = Vec::new();
        if cx.has_input(zero_point) {
            cx.dtype_in(zero_point, &[dtype])?;
            zero_points = constant_of(cx, zero_point, weights.n(), bytes_as_i32)?;
        }
        Ok(Self { weights, zero_points, absorbed: [index] })
    }
}

fn bytes_as_i32(tensor: &Tensor<'_>) -> Option<Vec<i32>> {
    let values = tensor.bytes().iter();
    match tensor.dtype {
        DType::U8 => Some(values.map(|&x| i32::from(x)).collect()),
        DType::I8 => Some(values.map(|&x| i32::from(x as i8)).collect()),
        _ => None,
    }
}

/// Scales of a weight of `n` columns: constant f32 input `index`.
pub(super) fn constant_scales(cx: &Lower<'_, '_>, index: usize, n: usize) -> Result<Vec<f32>, Decline> {
    cx.dtype_in(index, &[DType::F32])?;
    constant_of(cx, index, n, |tensor| tensor.to_f32s())
}

/// Constant input `index` with one or `n` values.
fn constant_of<T>(
    cx: &Lower<'_, '_>,
    index: usize,
    n: usize,
    values: impl Fn(&Tensor<'_>) -> Option<Vec<T>>,
) -> Result<Vec<T>, Decline> {
    let missing = || Decline::new(Code::Constant, format!("input {index} is not constant"));
    let values = cx.constant(index).and_then(values).ok_or_else(missing)?;
    match values.len() {
        1 => Ok(values),
        count if count == n => Ok(values),
        count => Err(Decline::new(Code::Input, format!("input {index} has {count} values, not 1 or {n}"))),
    }
}

impl Op for QuantizedProduct {
    fn absorbed_inputs(&self) -> &[usize] {
        &self.right.absorbed
    }

    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let input = match self.left {
            Left::Given { input, .. } => input,
            Left::Dynamic => 0,
        };
        let weights = &self.right.weights;
        let (m, out) = output_dims(&b.dims(input)?, weights, false)?;
        let (left, mut inputs) = self.left.bind(b, m)?;
        let driver =
            |output| MatMulInt::new(&self.target, m, left, Arc::clone(weights), &self.right.zero_points, output);
        match &self.output {
            Output::I32 => {
                let y = b.output(0, DType::I32, &out)?;
                b.step(driver(IntOutput::I32), &inputs, &[y]);
                Ok(())
            }
            Output::F32 { b_scales, ending } => ending.output(b, DType::F32, &out, |b, epilogue, operands, y| {
                inputs.extend(operands);
                b.step(driver(IntOutput::F32 { b_scales: b_scales.clone(), epilogue }), &inputs, &[y]);
            }),
        }
    }
}
