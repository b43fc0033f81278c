//! `GatherBlockQuantized`: rows of a table of few bits, in floats.

use std::sync::Arc;

use kernels::mem::AlignedBuf;
use kernels::ops::gather_nbits::GatherNBits;
use kernels::tensor::{DType, Dims, elements};

use super::nbits::constant;
use super::{Code, Decline, Lower, MICROSOFT, Op, OpRow, Work, axes};
use crate::ir::Tensor;
use crate::plan::{Bind, BindError};

pub const ROWS: &[OpRow] = &[OpRow {
    domain: MICROSOFT,
    name: "GatherBlockQuantized",
    versions: 1..=1,
    inputs: 3..=4,
    outputs: 1..=1,
    attrs: &["bits", "block_size", "gather_axis", "quantize_axis"],
    work: Work::Light,
    lower,
}];

struct GatherBlockQuantized {
    dtype: DType,
    index: DType,
    bits: usize,
    signed: bool,
    /// Shape of the data in elements, however many a byte of the tensor has.
    dims: Dims,
    gather_axis: usize,
    quantize_axis: usize,
    block: usize,
    /// f32, of the shape of the input.
    scales: Arc<AlignedBuf>,
    /// f32, as many as scales.
    zero_points: Arc<AlignedBuf>,
}

fn lower(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let data = constant(cx, 0)?;
    let index = cx.dtype_in(1, &[DType::I32, DType::I64])?;
    let dtype = cx.float_input(2)?;
    let scales = constant(cx, 2)?;
    let unknown = |what: String| Err(Decline::new(Code::Attribute, what));
    let bits = match (data.dtype, cx.attr_int("bits", 4)?) {
        (DType::U8, bits @ (2 | 4 | 8)) => bits as usize,
        (DType::I4 | DType::U4, _) => 4,
        (dtype, bits) => return unknown(format!("data of type {dtype} and {bits} bits are not known")),
    };
    let rank = data.dims.len();
    let axis = |name: &str, default: i64| {
        let axis = cx.attr_int(name, default)?;
        axes::resolve(axis, rank).map_err(|error| Decline::new(Code::Attribute, error.to_string()))
    };
    let (gather_axis, quantize_axis) = (axis("gather_axis", 0)?, axis("quantize_axis", 1)?);
    if data.dtype == DType::U8 && (gather_axis != 0 || quantize_axis != rank - 1 || rank < 2) {
        return unknown(
            "the elements of bytes have to be quantised along the last axis and gathered along the first".into(),
        );
    }
    let block = cx.attr_int("block_size", 128)?;
    let Some(block) = usize::try_from(block).ok().filter(|block| *block >= 16 && block.is_power_of_two()) else {
        return unknown(format!("blocks of {block} are not known"));
    };
    let mut dims = data.dims.clone();
    if data.dtype == DType::U8 {
        dims[rank - 1] *= 8 / bits;
    }
    let mut blocks = dims.clone();
    blocks[quantize_axis] = dims[quantize_axis].div_ceil(block);
    if scales.dims != blocks {
        return Err(Decline::new(
            Code::Input,
            format!("scales of shape {:?} do not fit the data", scales.dims.as_slice()),
        ));
    }
    let zero_points = zero_points(cx, data, bits, &blocks)?;
    let scales = f32_copy(cx, scales);
    let signed = data.dtype == DType::I4;
    Ok(Box::new(GatherBlockQuantized {
        dtype,
        index,
        bits,
        signed,
        dims,
        gather_axis,
        quantize_axis,
        block,
        scales,
        zero_points,
    }))
}

fn f32_copy(cx: &Lower<'_, '_>, tensor: &Tensor<'_>) -> Arc<AlignedBuf> {
    let plan = || AlignedBuf::zeroed(tensor.elements() * size_of::<f32>());
    cx.packed(&[tensor], "f32", plan, || {
        AlignedBuf::copy_of(bytemuck::cast_slice(&tensor.to_f32s().unwrap_or_default()))
    })
}

/// Zero points in f32, as many as `blocks` has elements. Those of bytes are packed along the last axis.
fn zero_points(cx: &Lower<'_, '_>, data: &Tensor<'_>, bits: usize, blocks: &Dims) -> Result<Arc<AlignedBuf>, Decline> {
    let count = elements(blocks);
    let plan = || AlignedBuf::zeroed(count * size_of::<f32>());
    if !cx.has_input(3) {
        let default = if data.dtype == DType::U8 { (1u32 << (bits - 1)) as f32 } else { 0.0 };
        let key = format!("{count} zero points of {default}");
        return Ok(cx.packed(&[], &key, plan, || AlignedBuf::copy_of(bytemuck::cast_slice(&vec![default; count]))));
    }
    let zero_points = constant(cx, 3)?;
    let mut expected = blocks.clone();
    if let (DType::U8, Some(last)) = (data.dtype, expected.last_mut()) {
        *last = (*last * bits).div_ceil(8);
    }
    if zero_points.dtype != data.dtype || zero_points.dims != expected {
        return Err(Decline::new(Code::Input, "the zero points do not fit the data"));
    }
    let row = blocks.last().copied().unwrap_or(1);
    // Bits from one row to the next: whole bytes only where the tensor is one of bytes.
    let row_bits = if data.dtype == DType::U8 { (row * bits).next_multiple_of(8) } else { row * bits };
    Ok(cx.packed(&[zero_points], &format!("{bits} bits of {row} as f32"), plan, || {
        let bytes = zero_points.bytes();
        let value = |index: usize| {
            let bit = index / row * row_bits + index % row * bits;
            let code = bytes[bit / 8] >> (bit % 8) & (u8::MAX >> (8 - bits));
            let negative = data.dtype == DType::I4 && code > 7;
            if negative { f32::from(code) - 16.0 } else { f32::from(code) }
        };
        let values: Vec<f32> = (0..count).map(value).collect();
        AlignedBuf::copy_of(bytemuck::cast_slice(&values))
    }))
}

impl Op for GatherBlockQuantized {
    fn absorbed_inputs(&self) -> &[usize] {
        &[2, 3]
    }

    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let indices = b.dims(1)?;
        let (outer, inner) = (&self.dims[..self.gather_axis], &self.dims[self.gather_axis + 1..]);
        let out: Dims = outer.iter().chain(&indices).chain(inner).copied().collect();
        let driver = GatherNBits {
            bits: self.bits,
            signed: self.signed,
            index: self.index,
            outer: elements(outer),
            axis: self.dims[self.gather_axis],
            inner: elements(inner),
            count: elements(&indices),
            blocked_axis: self.dims[self.quantize_axis],
            blocked_inner: elements(&self.dims[self.quantize_axis + 1..]),
            block: self.block,
        };
        let parameters = [&self.scales, &self.zero_points].map(|values| b.constant(Arc::clone(values)));
        let (data, index) = (b.input(0)?, b.input(1)?);
        let y = b.output_f32(0, self.dtype, &out)?;
        if elements(&out) != 0 {
            b.step(driver, &[data, index, parameters[0], parameters[1]], &[y]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
