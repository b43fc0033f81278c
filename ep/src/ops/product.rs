//! What the operators with matrix products share: packed weights and the epilogue.

use std::borrow::Cow;
use std::sync::Arc;

use half::f16;
use kernels::ops::arithmetic::{Arithmetic, ArithmeticOp};
use kernels::ops::broadcast::broadcast_dims;
use kernels::ops::convert::F32ToF16;
use kernels::ops::epilogue::{Activation, Epilogue, Position, Residual};
use kernels::ops::strided_copy::StridedCopy;
use kernels::pack::{PackLayout, PackedWeights, WeightData, WeightSource};
use kernels::select;
use kernels::tensor::{DType, Dims, elements, row_major_strides};

use super::{Code, Decline, Lower};
use crate::Accuracy;
use crate::ir::Tensor;
use crate::plan::{Bind, BindError, Buf};

/// Input `index` when it is a constant matrix.
pub(super) fn constant_matrix<'a, 'w>(cx: &Lower<'a, 'w>, index: usize) -> Option<&'a Tensor<'w>> {
    cx.constant(index).filter(|tensor| tensor.dims.len() == 2)
}

/// Packs a constant f32 or f16 matrix, `[n, k]` when `transposed` and `[k, n]` otherwise. Where the target multiplies f16, an
/// f16 matrix stays f16 and one of f32 becomes so if the option `accuracy` allows it; [`left_hand_side`] follows.
pub(super) fn pack_float(cx: &Lower<'_, '_>, b: &Tensor<'_>, transposed: bool) -> Arc<PackedWeights> {
    if let (Some(values), Some(layout)) = (f16_values(cx, b), select::f16_layout(cx.target())) {
        return pack(cx, b, layout, transposed, |pack| pack(WeightData::F16(&values)));
    }
    let layout = select::f32_layout(cx.target());
    pack(cx, b, layout, transposed, |pack| {
        let values = match b.values::<f32>() {
            Some(values) => values,
            None => b.to_f32s().unwrap_or_default().into(),
        };
        pack(WeightData::F32(&values))
    })
}

/// The elements of `b` in f16, if it may be multiplied so. Numbers that f16 does not have keep a matrix f32.
fn f16_values<'t>(cx: &Lower<'_, '_>, b: &'t Tensor<'_>) -> Option<Cow<'t, [f16]>> {
    if let Some(values) = b.values::<f16>() {
        return Some(values);
    }
    let values = b.values::<f32>().filter(|_| cx.accuracy() >= Accuracy::Fp16)?;
    let fits = values.iter().all(|value| value.abs() <= f16::MAX.to_f32());
    fits.then(|| values.iter().map(|&value| f16::from_f32(value)).collect())
}

/// Input 0 as the product with `weights` reads it.
pub(super) fn left_hand_side(b: &mut Bind<'_>, weights: &PackedWeights) -> Result<Buf, BindError> {
    if !weights.layout().is_f16() {
        return b.input_f32(0);
    }
    if b.dtype(0)? == DType::F16 {
        return b.input(0);
    }
    let (wide, elements) = (b.input(0)?, elements(&b.dims(0)?));
    let narrow = b.temp(DType::F16, elements)?;
    b.step(F32ToF16::new(elements), &[wide], &[narrow]);
    Ok(narrow)
}

/// Packs a constant i8 or u8 matrix, `[n, k]` when `transposed` and `[k, n]` otherwise.
pub(super) fn pack_i8(cx: &Lower<'_, '_>, b: &Tensor<'_>, transposed: bool) -> Arc<PackedWeights> {
    let layout = select::i8_layout(cx.target());
    pack(cx, b, layout, transposed, |pack| {
        pack(if b.dtype == DType::U8 {
            WeightData::U8(b.bytes())
        } else {
            WeightData::I8(bytemuck::cast_slice(b.bytes()))
        })
    })
}

fn pack(
    cx: &Lower<'_, '_>,
    b: &Tensor<'_>,
    layout: PackLayout,
    transposed: bool,
    with_data: impl FnOnce(&dyn Fn(WeightData<'_>) -> PackedWeights) -> PackedWeights,
) -> Arc<PackedWeights> {
    let (k, n) = match (b.dims.as_slice(), transposed) {
        (&[k, n], false) | (&[n, k], true) => (k, n),
        _ => (0, 0),
    };
    let plan = || PackedWeights::planned(layout, k, n);
    let key = format!("{layout}{}", if transposed { " transposed" } else { "" });
    cx.packed(&[b], &key, plan, || {
        // A weight that does not fit its layout stays planned, and running it is an error that names the step.
        with_data(&|data| {
            PackedWeights::pack(layout, WeightSource { data, k, n, transposed }).unwrap_or_else(|error| {
                tracing::error!(%error, "a weight was not packed");
                plan()
            })
        })
    })
}

/// The end of a matrix product, in terms of the node's inputs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ending {
    /// Input with `n` values.
    pub bias: Option<usize>,
    pub activation: Activation,
    pub residual: Option<ResidualInput>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct ResidualInput {
    pub input: usize,
    pub position: Position,
    pub factor: f32,
}

impl Ending {
    /// The epilogue of a product whose output has the shape `out`, and its operands.
    ///
    /// # Errors
    /// When bias or residual do not fit `out`.
    pub fn bind(&self, b: &mut Bind<'_>, out: &[usize]) -> Result<(Epilogue, Vec<Buf>), BindError> {
        let n = out.last().copied().unwrap_or(1);
        let mut operands = Vec::new();
        if let Some(input) = self.bias {
            let dims = b.dims(input)?;
            if elements(&dims) != n {
                return Err(BindError::new(format!("a bias of shape {:?} does not fit {n} columns", dims.as_slice())));
            }
            operands.push(b.input_f32(input)?);
        }
        let mut residual = None;
        if let Some(ResidualInput { input, position, factor }) = self.residual {
            let (buf, strides) = broadcast(b, input, out)?;
            operands.push(buf);
            residual = Some(Residual { position, factor, strides });
        }
        Ok((Epilogue { bias: self.bias.is_some(), activation: self.activation, residual }, operands))
    }

    /// Makes output 0 of a product of shape `out`: `step` adds the step that writes into the given buffer. A residual
    /// that broadcasts the product to a larger shape is added by a step of its own.
    ///
    /// # Errors
    /// When bias or residual do not fit `out`.
    pub fn output(
        &self,
        b: &mut Bind<'_>,
        dtype: DType,
        out: &[usize],
        step: impl FnOnce(&mut Bind<'_>, Epilogue, Vec<Buf>, Buf),
    ) -> Result<(), BindError> {
        let Some((residual, dims)) = self.larger_residual(b, out)? else {
            let (epilogue, operands) = self.bind(b, out)?;
            let y = b.output_f32(0, dtype, out)?;
            step(b, epilogue, operands, y);
            return Ok(());
        };
        let (epilogue, operands) = Self { residual: None, ..*self }.bind(b, out)?;
        let product = b.temp(DType::F32, elements(out))?;
        step(b, epilogue, operands, product);
        let (added, added_dims) = (b.input_f32(residual)?, b.dims(residual)?);
        let y = b.output_f32(0, dtype, &dims)?;
        b.step(Arithmetic::new(ArithmeticOp::Add, DType::F32, out, &added_dims), &[product, added], &[y]);
        Ok(())
    }

    /// The input and the shape of the sum, when the residual is the last thing added and broadcasts `out`.
    fn larger_residual(&self, b: &Bind<'_>, out: &[usize]) -> Result<Option<(usize, Dims)>, BindError> {
        let Some(ResidualInput { input, position: Position::AfterActivation, factor: 1.0 }) = self.residual else {
            return Ok(None);
        };
        let dims = broadcast_dims(&[out, &b.dims(input)?]).filter(|dims| dims.as_slice() != out);
        Ok(dims.map(|dims| (input, dims)))
    }
}

/// Input `input` as the strides of a matrix with the rows and columns of `out`; expanded when that takes more than strides.
fn broadcast(b: &mut Bind<'_>, input: usize, out: &[usize]) -> Result<(Buf, [usize; 2]), BindError> {
    let dims = b.dims(input)?;
    let missing = out.len().checked_sub(dims.len());
    let fits = |missing: usize| dims.iter().zip(&out[missing..]).all(|(&own, &wanted)| own == wanted || own == 1);
    let Some(missing) = missing.filter(|&missing| fits(missing)) else {
        return Err(BindError::new(format!("a tensor of shape {:?} does not broadcast to {out:?}", dims.as_slice())));
    };
    let buf = b.input_f32(input)?;
    let split = |dims: &[usize]| dims.split_last().map_or((1, 1), |(&width, rows)| (elements(rows), width));
    let ((rows, width), (out_rows, n)) = (split(&dims), split(out));
    let column_stride = usize::from(width == n && n != 1);
    if rows == 1 {
        return Ok((buf, [0, column_stride]));
    }
    if rows == out_rows {
        return Ok((buf, [width, column_stride]));
    }
    let full = b.temp(DType::F32, elements(out))?;
    let own = row_major_strides(&dims);
    let strides: Vec<isize> = (0..out.len())
        .map(|axis| axis.checked_sub(missing).filter(|&axis| dims[axis] != 1).map_or(0, |axis| own[axis] as isize))
        .collect();
    b.step(StridedCopy::new(DType::F32, out, &strides, 0), &[buf], &[full]);
    Ok((full, [n, 1]))
}

/// The activation that attribute `name` and its parameters describe.
pub(super) fn activation(cx: &Lower<'_, '_>) -> Result<Activation, Decline> {
    Ok(match cx.attr_str("activation", "")? {
        "" => Activation::Identity,
        "relu" => Activation::Relu,
        "gelu" => Activation::Gelu,
        "gelu_tanh" => Activation::GeluTanh,
        "silu" => Activation::Silu,
        "quick_gelu" => Activation::QuickGelu { alpha: cx.attr_float("activation_alpha", 1.702)? },
        "sigmoid" => Activation::Sigmoid,
        "tanh" => Activation::Tanh,
        "clip" => Activation::Clip {
            low: cx.attr_float("activation_low", f32::NEG_INFINITY)?,
            high: cx.attr_float("activation_high", f32::INFINITY)?,
        },
        other => return Err(Decline::new(Code::Attribute, format!("activation '{other}' is not known"))),
    })
}
