//! Convolutions of floats, alone and with what follows them.
//!
//! Inputs of all: X `[N, C, spatial..]`, W `[M, C / group, kernel..]`, B `[M]` and, for the fused ones, a residual of the
//! output's shape. The fused `spacemit` one has the attributes of the activation that `Linear` has.

use std::sync::Arc;

use kernels::isa::Target;
use kernels::ops::conv::{Conv as Driver, ConvShape, DepthwiseConv, FilterSource, Filters};
use kernels::ops::epilogue::{Activation, Epilogue, Position, Residual};
use kernels::ops::window::{Window, WindowAxis};
use kernels::tensor::{DType, Dims, elements};

use super::window::WindowAttrs;
use super::{Code, Decline, FUSED, Lower, MICROSOFT, Op, OpRow, Work, product};
use crate::ir::Attr;
use crate::plan::{Bind, BindError};

const CONV: OpRow = OpRow {
    domain: "",
    name: "Conv",
    versions: 1..=28,
    inputs: 2..=3,
    outputs: 1..=1,
    attrs: &["auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"],
    work: Work::Heavy,
    lower: |cx| lower(cx, Activation::Identity, Position::AfterActivation),
};

pub const ROWS: &[OpRow] = &[
    CONV,
    OpRow {
        domain: MICROSOFT,
        name: "FusedConv",
        versions: 1..=1,
        inputs: 2..=4,
        attrs: &[
            "activation",
            "activation_params",
            "auto_pad",
            "dilations",
            "group",
            "kernel_shape",
            "pads",
            "strides",
        ],
        lower: |cx| lower(cx, microsoft_activation(cx)?, Position::BeforeActivation),
        ..CONV
    },
    OpRow {
        domain: FUSED,
        versions: 1..=1,
        inputs: 2..=4,
        attrs: &[
            "activation",
            "activation_alpha",
            "activation_low",
            "activation_high",
            "auto_pad",
            "dilations",
            "group",
            "kernel_shape",
            "pads",
            "residual_first",
            "strides",
        ],
        lower: |cx| {
            let before = cx.attr_bool("residual_first", false)?;
            let position = if before { Position::BeforeActivation } else { Position::AfterActivation };
            lower(cx, product::activation(cx)?, position)
        },
        ..CONV
    },
];

const IMAGE: usize = 0;
const WEIGHT: usize = 1;
const BIAS: usize = 2;
const RESIDUAL: usize = 3;

struct Conv {
    target: Target,
    dtype: DType,
    window: WindowAttrs,
    groups: usize,
    /// Shape and contents of a constant weight that a matrix product takes.
    packed: Option<(Dims, Arc<Filters>)>,
    activation: Activation,
    position: Position,
}

fn lower(cx: &Lower<'_, '_>, activation: Activation, position: Position) -> Result<Box<dyn Op>, Decline> {
    let dtype = cx.float_input(IMAGE)?;
    for index in [WEIGHT, BIAS, RESIDUAL].into_iter().filter(|&index| cx.has_input(index)) {
        cx.dtype_in(index, &[dtype])?;
    }
    let (window, groups) = (WindowAttrs::lower(cx)?, group(cx)?);
    let packed = pack(cx, groups);
    Ok(Box::new(Conv { target: *cx.target(), dtype, window, groups, packed, activation, position }))
}

/// Attribute `group`.
pub(super) fn group(cx: &Lower<'_, '_>) -> Result<usize, Decline> {
    let group = cx.attr_int("group", 1)?;
    let positive = usize::try_from(group).ok().filter(|&group| group > 0);
    positive.ok_or_else(|| Decline::new(Code::Attribute, format!("'group' is {group}")))
}

/// Packs a constant weight, unless the convolution is depthwise and reads it as it is.
fn pack(cx: &Lower<'_, '_>, groups: usize) -> Option<(Dims, Arc<Filters>)> {
    let weight = cx.constant(WEIGHT)?;
    let [filters, channels, kernel @ ..] = weight.dims.as_slice() else { return None };
    if is_depthwise(groups, *channels) || !filters.is_multiple_of(groups) {
        return None;
    }
    let (target, depth) = (cx.target(), channels * elements(kernel));
    let key = format!("conv {} groups={groups}", target.name());
    let packed = cx.packed(&[weight], &key, Filters::planned, || {
        Filters::pack(target, &weight.to_f32s().unwrap_or_default(), groups, depth)
    });
    Some((weight.dims.clone(), packed))
}

fn is_depthwise(groups: usize, channels: usize) -> bool {
    groups > 1 && channels == 1
}

/// The activation of `FusedConv`.
fn microsoft_activation(cx: &Lower<'_, '_>) -> Result<Activation, Decline> {
    let parameters = match cx.node().attrs.get("activation_params") {
        Some(Attr::Floats(values)) => values.as_slice(),
        _ => &[],
    };
    match (cx.attr_str("activation", "")?, parameters) {
        ("", _) => Ok(Activation::Identity),
        ("Relu", _) => Ok(Activation::Relu),
        ("Sigmoid", _) => Ok(Activation::Sigmoid),
        ("Tanh", _) => Ok(Activation::Tanh),
        ("Clip", &[low, high]) => Ok(Activation::Clip { low, high }),
        (other, _) => Err(Decline::new(Code::Attribute, format!("activation '{other}' is not supported"))),
    }
}

/// Sizes of a convolution of an image of shape `x` with filters of shape `w`, and the shape of its output.
pub(super) fn shape(
    window: &WindowAttrs,
    groups: usize,
    x: &[usize],
    w: &[usize],
) -> Result<(ConvShape, Dims), BindError> {
    let wrong = || BindError::new(format!("a weight of shape {w:?} in {groups} groups does not fit an image of {x:?}"));
    let (&[batch, channels, ref image @ ..], &[filters, own, ref kernel @ ..]) = (x, w) else { return Err(wrong()) };
    if own.checked_mul(groups) != Some(channels) || !filters.is_multiple_of(groups) {
        return Err(wrong());
    }
    let axes: Vec<WindowAxis> = window.axes(image, kernel)?.into_iter().map(|(axis, _)| axis).collect();
    let out = [batch, filters].into_iter().chain(axes.iter().map(|axis| axis.output)).collect();
    let window = Window::new(&axes);
    Ok((ConvShape { batch, groups, channels: own, filters: filters / groups, window }, out))
}

impl Op for Conv {
    fn absorbed_inputs(&self) -> &[usize] {
        if self.packed.is_some() { &[WEIGHT] } else { &[] }
    }

    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let weight = match &self.packed {
            Some((dims, _)) => dims.clone(),
            None => b.dims(WEIGHT)?,
        };
        let (shape, out) = shape(&self.window, self.groups, &b.dims(IMAGE)?, &weight)?;
        let mut inputs = vec![b.input_f32(IMAGE)?];
        if self.packed.is_none() {
            inputs.push(b.input_f32(WEIGHT)?);
        }
        let bias = b.has_input(BIAS);
        if bias {
            let dims = b.dims(BIAS)?;
            if dims.as_slice() != [weight[0]] {
                return Err(BindError::new(format!("a bias of shape {dims:?} does not fit {} filters", weight[0])));
            }
            inputs.push(b.input_f32(BIAS)?);
        }
        let mut epilogue = Epilogue { activation: self.activation, ..Epilogue::NONE };
        if b.has_input(RESIDUAL) {
            let dims = b.dims(RESIDUAL)?;
            if dims != out {
                return Err(BindError::new(format!("a residual of shape {dims:?} does not fit an output of {out:?}")));
            }
            let strides = [shape.window.positions(), 1];
            epilogue.residual = Some(Residual { position: self.position, factor: 1.0, strides });
            inputs.push(b.input_f32(RESIDUAL)?);
        }
        let y = b.output_f32(0, self.dtype, &out)?;
        if elements(&out) == 0 {
            return Ok(());
        }
        match &self.packed {
            None if is_depthwise(self.groups, shape.channels) => {
                b.step(DepthwiseConv::new(shape, bias, epilogue), &inputs, &[y]);
            }
            packed => {
                let constant = packed.as_ref().map(|(_, filters)| FilterSource::Constant(Arc::clone(filters)));
                let filters = constant.unwrap_or(FilterSource::Operand);
                b.step(Driver::new(&self.target, shape, filters, bias, epilogue), &inputs, &[y]);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
