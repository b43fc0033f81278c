//! Constant weights of few bits, in the form of `MatMulNBits`.

use std::sync::Arc;

use kernels::ops::matmul_nbits::{Compute, Engine};
use kernels::pack::{Codes, NBitsShape, NBitsWeights};
use kernels::tensor::{DType, elements};

use super::{Code, Decline, Lower};
use crate::Accuracy;
use crate::ir::Tensor;
use crate::plan::{Bind, BindError, Buf};

/// Where a node has the parts of a weight; further inputs of such weights follow.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// Codes, u8 `[N, ceil(K / block_size), block_size * bits / 8]`.
    pub codes: usize,
    /// `[N, ceil(K / block_size)]`, in the type of the activations.
    pub scales: usize,
    /// Optional: packed like the codes as u8 `[N, ceil(blocks * bits / 8)]`, or like the scales.
    pub zero_points: Option<usize>,
}

/// A whole positive attribute that has to be given.
pub(super) fn size(cx: &Lower<'_, '_>, name: &str) -> Result<usize, Decline> {
    let value = cx.attr_int(name, 0)?;
    usize::try_from(value).ok().filter(|&value| value > 0).ok_or_else(|| {
        Decline::new(Code::Attribute, format!("attribute '{name}' is {value} where a positive number is needed"))
    })
}

/// Geometry of a weight with `n` columns, by the attributes `K`, `bits` and `block_size`.
pub(super) fn shape(cx: &Lower<'_, '_>, n: usize) -> Result<NBitsShape, Decline> {
    let (k, block, bits) = (size(cx, "K")?, size(cx, "block_size")?, cx.attr_int("bits", 4)?);
    let known = block.is_power_of_two() && k.checked_mul(n).is_some();
    let shape = usize::try_from(bits).ok().and_then(|bits| NBitsShape::new(k, n, bits, block)).filter(|_| known);
    shape.ok_or_else(|| Decline::new(Code::Attribute, format!("{bits} bits in blocks of {block} are not known")))
}

/// What multiplies as precisely as the attribute `accuracy_level` and the option `accuracy` ask for.
pub(super) fn engine(cx: &Lower<'_, '_>) -> Result<Engine, Decline> {
    let compute = match cx.attr_int("accuracy_level", 0)? {
        0..=3 if cx.accuracy() >= Accuracy::Int8 => Compute::Int8,
        0..=3 => Compute::F32,
        4 => Compute::Int8,
        level => return Err(Decline::new(Code::Attribute, format!("accuracy_level {level} is not known"))),
    };
    Ok(Engine::new(cx.target(), compute))
}

/// Packs the weight at `place`, whose scales have the type `dtype`, for `engine`.
pub(super) fn pack(
    cx: &Lower<'_, '_>,
    engine: Engine,
    shape: NBitsShape,
    place: Place,
    dtype: DType,
) -> Result<Arc<NBitsWeights>, Decline> {
    cx.dtype_in(place.codes, &[DType::U8])?;
    cx.dtype_in(place.scales, &[dtype])?;
    let (codes, scales) = (constant(cx, place.codes)?, constant(cx, place.scales)?);
    let given = place.zero_points.filter(|&index| cx.has_input(index));
    given.map(|index| cx.dtype_in(index, &[DType::U8, dtype])).transpose()?;
    let zero_points = given.map(|index| constant(cx, index)).transpose()?;
    let (n, blocks) = (shape.n(), shape.blocks());
    let row_bytes = blocks * size(cx, "block_size")? * shape.bits() / 8;
    let fits = codes.bytes().len() == n * row_bytes
        && scales.elements() == n * blocks
        && zero_points.is_none_or(|zero_points| zero_points.elements() == zero_point_count(&shape, zero_points.dtype));
    if !fits {
        return Err(Decline::new(Code::Input, format!("codes, scales or zero points are not those of {shape}")));
    }
    let tensors: Vec<&Tensor<'_>> = [codes, scales].into_iter().chain(zero_points).collect();
    let layout = engine.layout();
    let plan = || NBitsWeights::planned(layout, shape);
    Ok(cx.packed(&tensors, &format!("nbits {shape} {layout}"), plan, || {
        let column_stride = row_bytes * 8 / shape.bits();
        let codes = Codes { bytes: codes.bytes(), signed: false, row_stride: 1, column_stride };
        let zero_points = zero_points.map(|zero_points| unpack_zero_points(&shape, zero_points));
        let scales = scales.to_f32s().unwrap_or_default();
        NBitsWeights::pack(layout, shape, codes, &scales, zero_points.as_deref()).unwrap_or_else(|error| {
            tracing::error!(%error, "a weight was not packed");
            plan()
        })
    }))
}

/// Input `index` as the bias of `n` columns, if it is given.
pub(super) fn bias(b: &mut Bind<'_>, index: usize, n: usize) -> Result<Option<Buf>, BindError> {
    if !b.has_input(index) {
        return Ok(None);
    }
    if elements(&b.dims(index)?) != n {
        return Err(BindError::new(format!("input {index} does not fit {n} columns")));
    }
    b.input_f32(index).map(Some)
}

/// Input `index`, which has to be constant.
pub(super) fn constant<'a, 'w>(cx: &Lower<'a, 'w>, index: usize) -> Result<&'a Tensor<'w>, Decline> {
    cx.constant(index).ok_or_else(|| Decline::new(Code::Constant, format!("input {index} is not constant")))
}

/// Elements of a tensor of zero points of type `dtype`.
fn zero_point_count(shape: &NBitsShape, dtype: DType) -> usize {
    match dtype {
        DType::U8 => shape.n() * (shape.blocks() * shape.bits()).div_ceil(8),
        _ => shape.n() * shape.blocks(),
    }
}

/// Zero points as `[n, blocks]`.
fn unpack_zero_points(shape: &NBitsShape, zero_points: &Tensor<'_>) -> Vec<f32> {
    if let Some(values) = zero_points.to_f32s() {
        return values;
    }
    unpack(zero_points.bytes(), shape.blocks(), shape.bits())
}

/// Codes of `bits` bits as numbers. Each `row` of them begin with a byte of their own.
pub(super) fn unpack(bytes: &[u8], row: usize, bits: usize) -> Vec<f32> {
    let code = |bytes: &[u8], bit: usize| f32::from(bytes[bit / 8] >> (bit % 8) & (u8::MAX >> (8 - bits)));
    let rows = bytes.chunks((row * bits).div_ceil(8));
    rows.flat_map(|bytes| (0..row).map(move |index| code(bytes, index * bits))).collect()
}
