//! Layer and root-mean-square normalisations, alone and with the additions before them.

use kernels::ops::norm::{Norm as Driver, NormKind};
use kernels::ops::strided_copy::StridedCopy;
use kernels::tensor::{DType, elements, row_major_strides};

use super::{Code, Decline, Lower, MICROSOFT, Op, OpRow, Work, axes};
use crate::plan::{Bind, BindError, Buf};

const ATTRS: &[&str] = &["axis", "epsilon", "stash_type"];

pub const ROWS: &[OpRow] = &[
    row("", "LayerNormalization", 1..=28, 2..=3, 1..=3, |cx| alone(cx, NormKind::Layer)),
    row("", "RMSNormalization", 23..=28, 2..=2, 1..=1, |cx| alone(cx, NormKind::Rms)),
    row("", "SimplifiedLayerNormalization", 1..=1, 2..=2, 1..=2, |cx| alone(cx, NormKind::Rms)),
    row(MICROSOFT, "SimplifiedLayerNormalization", 1..=1, 2..=2, 1..=2, |cx| alone(cx, NormKind::Rms)),
    skip_row("SkipLayerNormalization", 3..=5, |cx| skip(cx, NormKind::Layer)),
    skip_row("SkipSimplifiedLayerNormalization", 3..=4, |cx| skip(cx, NormKind::Rms)),
];

type LowerFn = fn(&Lower<'_, '_>) -> Result<Box<dyn Op>, Decline>;
type Range<T> = std::ops::RangeInclusive<T>;

const fn row(
    domain: &'static str,
    name: &'static str,
    versions: Range<i32>,
    inputs: Range<usize>,
    outputs: Range<usize>,
    lower: LowerFn,
) -> OpRow {
    OpRow { domain, name, versions, inputs, outputs, attrs: ATTRS, work: Work::Heavy, lower }
}

const fn skip_row(name: &'static str, inputs: Range<usize>, lower: LowerFn) -> OpRow {
    let (domain, attrs) = (MICROSOFT, &["epsilon"]);
    OpRow { domain, name, versions: 1..=1, inputs, outputs: 1..=4, attrs, work: Work::Heavy, lower }
}

/// Where each operand of the driver is among the inputs and outputs of the node.
pub(super) struct Norm {
    kind: NormKind,
    dtype: DType,
    axis: i64,
    epsilon: f32,
    skip: Option<usize>,
    bias: Option<usize>,
    gamma: usize,
    beta: Option<usize>,
    sum_out: Option<usize>,
    mean_out: Option<usize>,
    inv_std_out: Option<usize>,
}

fn alone(cx: &Lower<'_, '_>, kind: NormKind) -> Result<Box<dyn Op>, Decline> {
    let dtype = floats(cx)?;
    if cx.attr_int("stash_type", 1)? != 1 {
        return Err(Decline::new(Code::Attribute, "statistics in another type than float are not supported"));
    }
    let output = |index: usize| cx.has_output(index).then_some(index);
    let (mean_out, inv_std_out) = match kind {
        NormKind::Layer => (output(1), output(2)),
        NormKind::Rms => (None, output(1)),
    };
    Ok(Box::new(Norm {
        kind,
        dtype,
        axis: cx.attr_int("axis", -1)?,
        epsilon: cx.attr_float("epsilon", 1e-5)?,
        skip: None,
        bias: None,
        gamma: 1,
        beta: cx.has_input(2).then_some(2),
        sum_out: None,
        mean_out,
        inv_std_out,
    }))
}

fn skip(cx: &Lower<'_, '_>, kind: NormKind) -> Result<Box<dyn Op>, Decline> {
    let dtype = floats(cx)?;
    if kind == NormKind::Rms && cx.has_output(1) {
        return Err(Decline::new(Code::Output, "a root-mean-square normalisation has no mean"));
    }
    let input = |index: usize| cx.has_input(index).then_some(index);
    let (beta, bias) = match kind {
        NormKind::Layer => (input(3), input(4)),
        NormKind::Rms => (None, input(3)),
    };
    Ok(Box::new(Norm {
        kind,
        dtype,
        axis: -1,
        epsilon: cx.attr_float("epsilon", 1e-12)?,
        skip: Some(1),
        bias,
        gamma: 2,
        beta,
        sum_out: cx.has_output(3).then_some(3),
        mean_out: cx.has_output(1).then_some(1),
        inv_std_out: cx.has_output(2).then_some(2),
    }))
}

/// The type of all inputs.
fn floats(cx: &Lower<'_, '_>) -> Result<DType, Decline> {
    let dtype = cx.float_input(0)?;
    for index in (1..cx.inputs()).filter(|&index| cx.has_input(index)) {
        cx.dtype_in(index, &[dtype])?;
    }
    Ok(dtype)
}

impl Norm {
    /// The root-mean-square normalisation before the products of one node: of input 0 and, if it is given, the skip that is
    /// input 1, by the scale that is input 2. Output `sum` is their sum, if it is read.
    pub(super) fn of_products(cx: &Lower<'_, '_>, sum: usize) -> Result<Self, Decline> {
        let dtype = cx.float_input(0)?;
        let skip = cx.has_input(1).then_some(1);
        for index in [skip, Some(2)].into_iter().flatten() {
            cx.dtype_in(index, &[dtype])?;
        }
        if cx.has_output(sum) && skip.is_none() {
            return Err(Decline::new(Code::Output, "there is no sum without a skip"));
        }
        Ok(Self {
            kind: NormKind::Rms,
            dtype,
            axis: -1,
            epsilon: cx.attr_float("epsilon", 1e-5)?,
            skip,
            bias: None,
            gamma: 2,
            beta: None,
            sum_out: cx.has_output(sum).then_some(sum),
            mean_out: None,
            inv_std_out: None,
        })
    }

    /// Adds the step, which writes the normalised input to `y`, f32.
    pub(super) fn write(&self, b: &mut Bind<'_>, y: Buf) -> Result<(), BindError> {
        let dims = b.dims(0)?;
        let axis = axes::resolve(self.axis, dims.len())?;
        let (outer, inner) = dims.split_at(axis);
        let (rows, cols) = (elements(outer), elements(inner));
        let mut driver = Driver {
            bias: self.bias.is_some(),
            beta: self.beta.is_some(),
            sum_out: self.sum_out.is_some(),
            mean_out: self.mean_out.is_some(),
            inv_std_out: self.inv_std_out.is_some(),
            ..Driver::new(self.kind, rows, cols, self.epsilon)
        };
        let mut inputs = vec![b.input_f32(0)?];
        if let Some(skip) = self.skip {
            driver.skip_rows = Some(skip_rows(&b.dims(skip)?, &dims)?);
            inputs.push(b.input_f32(skip)?);
        }
        for index in [self.bias, Some(self.gamma), self.beta].into_iter().flatten() {
            inputs.push(row_operand(b, index, inner)?);
        }
        let mut outputs = vec![y];
        if let Some(sum) = self.sum_out {
            outputs.push(b.output_f32(sum, self.dtype, &dims)?);
        }
        let mut reduced = dims.clone();
        reduced[axis..].fill(1);
        for index in [self.mean_out, self.inv_std_out].into_iter().flatten() {
            outputs.push(b.output(index, DType::F32, &reduced)?);
        }
        b.step(driver, &inputs, &outputs);
        Ok(())
    }
}

impl Op for Norm {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let dims = b.dims(0)?;
        let y = b.output_f32(0, self.dtype, &dims)?;
        self.write(b, y)
    }
}

/// Rows of a skip operand of shape `skip`, which may lack leading dimensions of `dims` or have 1 there.
fn skip_rows(skip: &[usize], dims: &[usize]) -> Result<usize, BindError> {
    let first = skip.iter().position(|&dim| dim != 1).unwrap_or(skip.len().saturating_sub(1));
    let tail = &skip[first..];
    if skip.len() <= dims.len() && !tail.is_empty() && dims.ends_with(tail) {
        return Ok(elements(&tail[..tail.len() - 1]));
    }
    Err(BindError::new(format!("a skip of shape {skip:?} does not fit an input of shape {dims:?}")))
}

/// A scale or bias, spread over the normalised dimensions `inner` when it has fewer elements.
fn row_operand(b: &mut Bind<'_>, index: usize, inner: &[usize]) -> Result<Buf, BindError> {
    let (dims, buf) = (b.dims(index)?, b.input_f32(index)?);
    let extra = dims.len().saturating_sub(inner.len());
    let own = &dims[extra..];
    let fits = |(&dim, &target): (&usize, &usize)| dim == 1 || dim == target;
    if elements(&dims[..extra]) != 1 || !own.iter().rev().zip(inner.iter().rev()).all(fits) {
        let dims = dims.as_slice();
        return Err(BindError::new(format!("input {index} of shape {dims:?} does not fit rows of shape {inner:?}")));
    }
    if elements(own) == elements(inner) {
        return Ok(buf);
    }
    let missing = inner.len() - own.len();
    let own_strides = row_major_strides(own);
    let mut strides = vec![0; missing];
    strides.extend(own.iter().zip(&own_strides).map(|(&dim, &stride)| if dim == 1 { 0 } else { stride as isize }));
    let row = b.temp(DType::F32, elements(inner))?;
    b.step(StridedCopy::new(DType::F32, inner, &strides, 0), &[buf], &[row]);
    Ok(row)
}

#[cfg(test)]
mod tests;
