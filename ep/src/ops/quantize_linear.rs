use std::sync::Arc;

use kernels::ops::quantize::{DequantizeLinear, DynamicQuantize, Granularity, Groups, MinMax, QuantizeLinear};
use kernels::tensor::{DType, elements};

use super::nibbles::Nibbles;
use super::{Code, Decline, Lower, MICROSOFT, Op, OpRow, Work, axes};
use crate::plan::{Bind, BindError, Buf};

const QUANTIZE: OpRow = OpRow {
    domain: "",
    name: "QuantizeLinear",
    versions: 10..=28,
    inputs: 2..=3,
    outputs: 1..=1,
    attrs: &["axis", "block_size", "output_dtype", "precision", "saturate"],
    work: Work::Light,
    lower: quantize,
};

const DEQUANTIZE: OpRow = OpRow {
    domain: "",
    name: "DequantizeLinear",
    versions: 10..=28,
    inputs: 2..=3,
    outputs: 1..=1,
    attrs: &["axis", "block_size", "output_dtype"],
    work: Work::Light,
    lower: dequantize,
};

pub const ROWS: &[OpRow] = &[
    QUANTIZE,
    OpRow { domain: MICROSOFT, versions: 1..=1, ..QUANTIZE },
    DEQUANTIZE,
    OpRow { domain: MICROSOFT, versions: 1..=1, ..DEQUANTIZE },
    OpRow {
        domain: "",
        name: "DynamicQuantizeLinear",
        versions: 11..=28,
        inputs: 1..=1,
        outputs: 1..=3,
        attrs: &[],
        work: Work::Light,
        lower: dynamic_quantize,
    },
];

/// Scales and zero points of a tensor.
struct Parameters {
    axis: i64,
    /// 0: not in blocks.
    block: usize,
}

impl Parameters {
    fn lower(cx: &Lower<'_, '_>) -> Result<Self, Decline> {
        let block = cx.attr_int("block_size", 0)?;
        let block = usize::try_from(block)
            .map_err(|_| Decline::new(Code::Attribute, format!("block_size {block} is negative")))?;
        Ok(Self { axis: cx.attr_int("axis", 1)?, block })
    }

    /// The groups of input 0 that share an element of input 1.
    fn bind(&self, b: &Bind<'_>) -> Result<Groups, BindError> {
        let (dims, scales) = (b.dims(0)?, b.dims(1)?);
        let count = elements(&scales);
        if b.has_input(2) && elements(&b.dims(2)?) != count {
            return Err(BindError::new("there are not as many zero points as scales"));
        }
        if count == 1 && self.block == 0 {
            return Ok(Groups::tensor(elements(&dims)));
        }
        let axis = axes::resolve(self.axis, dims.len())?;
        let groups = Groups {
            outer: elements(&dims[..axis]),
            axis: dims[axis],
            inner: elements(&dims[axis + 1..]),
            per: if self.block == 0 { Granularity::Axis } else { Granularity::Block(self.block) },
        };
        let mut expected = dims.clone();
        match self.block {
            0 => expected = [dims[axis]].into_iter().collect(),
            block => expected[axis] = dims[axis].div_ceil(block),
        }
        if expected != scales {
            let (scales, expected) = (scales.as_slice(), expected.as_slice());
            return Err(BindError::new(format!("scales of shape {scales:?} are given where {expected:?} is needed")));
        }
        Ok(groups)
    }
}

struct Quantize {
    to: DType,
    parameters: Parameters,
}

/// Types that ONNX numbers as in `TensorProto.DataType`.
fn quantized_type(number: i64) -> Option<DType> {
    match number {
        2 => Some(DType::U8),
        3 => Some(DType::I8),
        4 => Some(DType::U16),
        5 => Some(DType::I16),
        _ => None,
    }
}

fn quantize(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    cx.float_input(0)?;
    cx.float_input(1)?;
    let number = cx.attr_int("output_dtype", 0)?;
    let asked = match number {
        0 => None,
        _ => Some(quantized_type(number).ok_or_else(|| {
            Decline::new(Code::DType, format!("quantisation to data type {number} is not supported"))
        })?),
    };
    let to = if cx.has_input(2) {
        cx.dtype_in(2, &[DType::U8, DType::I8, DType::U16, DType::I16])?
    } else {
        asked.unwrap_or(DType::U8)
    };
    if asked.is_some_and(|asked| asked != to) {
        return Err(Decline::new(Code::DType, "output_dtype is not the type of the zero point"));
    }
    let precision = cx.attr_int("precision", 0)?;
    if precision > 1 {
        return Err(Decline::new(Code::Attribute, format!("a division in data type {precision} is not supported")));
    }
    Ok(Box::new(Quantize { to, parameters: Parameters::lower(cx)? }))
}

impl Op for Quantize {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let groups = self.parameters.bind(b)?;
        let mut inputs = vec![b.input_f32(0)?, b.input_f32(1)?];
        if b.has_input(2) {
            inputs.push(b.input(2)?);
        }
        let y = b.output(0, self.to, &b.dims(0)?)?;
        b.step(QuantizeLinear::new(groups, self.to, inputs.len() == 3), &inputs, &[y]);
        Ok(())
    }
}

struct Dequantize {
    from: DType,
    to: DType,
    parameters: Parameters,
    /// Where the model has half bytes.
    unpacked: Option<Nibbles>,
}

fn dequantize(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let unpacked = Nibbles::lower(cx)?;
    let from = match &unpacked {
        Some(unpacked) => unpacked.dtype,
        None => cx.dtype_in(0, &[DType::U8, DType::I8, DType::U16, DType::I16, DType::I32])?,
    };
    let scale = cx.float_input(1)?;
    if cx.has_input(2) && unpacked.is_none() {
        cx.dtype_in(2, &[from])?;
    }
    let to = match cx.attr_int("output_dtype", 0)? {
        0 => scale,
        1 => DType::F32,
        10 => DType::F16,
        other => {
            return Err(Decline::new(Code::DType, format!("dequantisation to data type {other} is not supported")));
        }
    };
    Ok(Box::new(Dequantize { from, to, parameters: Parameters::lower(cx)?, unpacked }))
}

impl Op for Dequantize {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let groups = self.parameters.bind(b)?;
        let mut inputs = vec![self.bytes(b, 0)?, b.input_f32(1)?];
        if b.has_input(2) {
            inputs.push(self.bytes(b, 2)?);
        }
        let dims = b.dims(0)?;
        let y = b.output_f32(0, self.to, &dims)?;
        b.step(DequantizeLinear::new(groups, self.from, inputs.len() == 3), &inputs, &[y]);
        Ok(())
    }
}

impl Dequantize {
    /// Input `index`, a byte or more an element.
    fn bytes(&self, b: &mut Bind<'_>, index: usize) -> Result<Buf, BindError> {
        match &self.unpacked {
            Some(unpacked) => Ok(b.constant(Arc::clone(if index == 0 { &unpacked.x } else { &unpacked.zero_points }))),
            None => b.input(index),
        }
    }
}

struct DynamicQuantizeLinear;

fn dynamic_quantize(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    cx.dtype_in(0, &[DType::F32])?;
    Ok(Box::new(DynamicQuantizeLinear))
}

impl Op for DynamicQuantizeLinear {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let dims = b.dims(0)?;
        let len = elements(&dims);
        let (x, extremes) = (b.input(0)?, b.temp(DType::F32, MinMax::extremes(len))?);
        b.step(MinMax::new(len), &[x], &[extremes]);
        let mut results = [b.output(0, DType::U8, &dims)?; 3];
        for (index, dtype) in [(1, DType::F32), (2, DType::U8)] {
            results[index] = if b.has_output(index) { b.output(index, dtype, &[])? } else { b.temp(dtype, 1)? };
        }
        b.step(DynamicQuantize::new(len), &[x, extremes], &results);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
