//! The adjoint of a convolution: X `[N, C, spatial..]`, W `[C, M / group, kernel..]`, B `[M]`.

use std::sync::Arc;

use kernels::isa::Target;
use kernels::ops::conv::{ConvShape, ConvTranspose as Driver, FilterSource, Filters};
use kernels::ops::strided_copy::StridedCopy;
use kernels::ops::window::{Window, WindowAxis};
use kernels::tensor::{DType, Dims, elements};

use super::window::WindowAttrs;
use super::{Decline, Lower, Op, OpRow, Work, conv};
use crate::plan::{Bind, BindError, Buf};

pub const ROWS: &[OpRow] = &[OpRow {
    domain: "",
    name: "ConvTranspose",
    versions: 1..=28,
    inputs: 2..=3,
    outputs: 1..=1,
    attrs: &["auto_pad", "dilations", "group", "kernel_shape", "output_padding", "output_shape", "pads", "strides"],
    work: Work::Heavy,
    lower,
}];

const IMAGE: usize = 0;
const WEIGHT: usize = 1;
const BIAS: usize = 2;

struct ConvTranspose {
    target: Target,
    dtype: DType,
    window: WindowAttrs,
    groups: usize,
    /// Shape and contents of a constant weight.
    packed: Option<(Dims, Arc<Filters>)>,
}

fn lower(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let dtype = cx.float_input(IMAGE)?;
    for index in [WEIGHT, BIAS].into_iter().filter(|&index| cx.has_input(index)) {
        cx.dtype_in(index, &[dtype])?;
    }
    let (window, groups) = (WindowAttrs::lower(cx)?, conv::group(cx)?);
    Ok(Box::new(ConvTranspose { target: *cx.target(), dtype, window, groups, packed: pack(cx, groups) }))
}

fn pack(cx: &Lower<'_, '_>, groups: usize) -> Option<(Dims, Arc<Filters>)> {
    let weight = cx.constant(WEIGHT)?;
    let [channels, _, kernel @ ..] = weight.dims.as_slice() else { return None };
    if !channels.is_multiple_of(groups) {
        return None;
    }
    let (target, channels, taps) = (cx.target(), channels / groups, elements(kernel));
    let key = format!("conv_transpose {} groups={groups}", target.name());
    let packed = cx.packed(&[weight], &key, Filters::planned, || {
        Filters::pack_transposed(target, &weight.to_f32s().unwrap_or_default(), groups, channels, taps)
    });
    Some((weight.dims.clone(), packed))
}

impl ConvTranspose {
    /// Sizes of the driver, and the shape of the output.
    fn shape(&self, x: &[usize], w: &[usize]) -> Result<(ConvShape, Dims), BindError> {
        let groups = self.groups;
        let wrong =
            || BindError::new(format!("a weight of shape {w:?} in {groups} groups does not fit an image of {x:?}"));
        let (&[batch, channels, ref image @ ..], &[own, filters, ref kernel @ ..]) = (x, w) else {
            return Err(wrong());
        };
        if own != channels || !channels.is_multiple_of(groups) {
            return Err(wrong());
        }
        let all = filters.checked_mul(groups).ok_or_else(wrong)?;
        let axes: Vec<WindowAxis> = self.window.transposed_axes(image, kernel)?;
        let out = [batch, all].into_iter().chain(axes.iter().map(|axis| axis.input)).collect();
        let window = Window::new(&axes);
        Ok((ConvShape { batch, groups, channels: channels / groups, filters, window }, out))
    }

    /// A weight that is an operand, in the order of the driver.
    fn transposed(&self, b: &mut Bind<'_>, shape: &ConvShape) -> Result<Buf, BindError> {
        let (w, rows) = (b.input_f32(WEIGHT)?, shape.filters * shape.window.taps());
        let order = b.temp(DType::F32, shape.groups * shape.channels * rows)?;
        let dims = [shape.groups, shape.channels, rows];
        b.step(StridedCopy::transpose(DType::F32, &dims, &[0, 2, 1]), &[w], &[order]);
        Ok(order)
    }
}

impl Op for ConvTranspose {
    fn absorbed_inputs(&self) -> &[usize] {
        if self.packed.is_some() { &[WEIGHT] } else { &[] }
    }

    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let weight = match &self.packed {
            Some((dims, _)) => dims.clone(),
            None => b.dims(WEIGHT)?,
        };
        let (shape, out) = self.shape(&b.dims(IMAGE)?, &weight)?;
        let x = b.input_f32(IMAGE)?;
        let y = b.output_f32(0, self.dtype, &out)?;
        if elements(&out) == 0 {
            return Ok(());
        }
        let mut inputs = vec![x];
        let filters = match &self.packed {
            Some((_, filters)) => FilterSource::Constant(Arc::clone(filters)),
            None => {
                inputs.push(self.transposed(b, &shape)?);
                FilterSource::Operand
            }
        };
        let bias = b.has_input(BIAS);
        if bias {
            let dims = b.dims(BIAS)?;
            if dims.as_slice() != [out[1]] {
                return Err(BindError::new(format!("a bias of shape {dims:?} does not fit {} filters", out[1])));
            }
            inputs.push(b.input_f32(BIAS)?);
        }
        b.step(Driver::new(&self.target, shape, filters, bias), &inputs, &[y]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use kernels::tensor::elements;

    use crate::Error;
    use crate::ir::Attr;
    use crate::ops::attention_testing::value;
    use crate::testing::{Model, Value};

    type Attrs = Vec<(&'static str, Attr<'static>)>;

    fn ints(name: &'static str, values: &[i64]) -> (&'static str, Attr<'static>) {
        (name, Attr::Ints(values.to_vec()))
    }

    fn run(dims: &[&[usize]], attrs: Attrs, constant: bool) -> Result<Value, Error> {
        let names = ["x", "w", "b"];
        let mut model = Model::new();
        let mut given = Vec::new();
        for (index, dims) in dims.iter().enumerate() {
            let value = value(dims, index + 1);
            if index == 1 && constant {
                model.constant("w", dims, value.values::<f32>());
            } else {
                model.input::<f32>(names[index], dims);
                given.push(value);
            }
        }
        model.version(11).node("ConvTranspose", &names[..dims.len()], &["y"], attrs).output("y");
        Ok(model.run(&given)?.remove(0))
    }

    /// Each element of `x` adds its filter, on one axis.
    fn expected(x: &[usize], w: &[usize], len: usize, stride: usize, dilation: usize, pad: usize) -> Vec<f64> {
        let (image, weight) = (value(x, 1), value(w, 2));
        let groups_of = |c: usize, filters: usize| c / (x[1] / filters);
        let groups = if w[1] == 1 { 2 } else { 1 };
        let all = w[1] * groups;
        let mut y = vec![0.0; x[0] * all * len];
        for (n, c, i, m, k) in (0..elements(x) * w[1] * w[2]).map(|at| {
            let (element, tap) = (at / (w[1] * w[2]), at % (w[1] * w[2]));
            (element / x[2] / x[1], element / x[2] % x[1], element % x[2], tap / w[2], tap % w[2])
        }) {
            if let Some(at) = (i * stride + k * dilation).checked_sub(pad).filter(|&at| at < len) {
                let product = f64::from(image.values::<f32>()[(n * x[1] + c) * x[2] + i])
                    * f64::from(weight.values::<f32>()[(c * w[1] + m) * w[2] + k]);
                y[(n * all + groups_of(c, groups) * w[1] + m) * len + at] += product;
            }
        }
        y
    }

    #[test]
    fn sizes_of_the_output() {
        let (x, w) = (&[2, 4, 5][..], &[4, 3, 3][..]);
        let auto = |kind: &str| ("auto_pad", Attr::Str(kind.into()));
        let cases: [(Attrs, usize, usize, usize, usize); 8] = [
            (vec![], 7, 1, 1, 0),
            (vec![ints("strides", &[2]), ints("pads", &[1, 0])], 10, 2, 1, 1),
            (vec![ints("strides", &[2]), ints("output_padding", &[1])], 12, 2, 1, 0),
            (vec![ints("dilations", &[2])], 9, 1, 2, 0),
            (vec![ints("strides", &[3]), ints("output_shape", &[14])], 14, 3, 1, 1),
            (vec![ints("strides", &[2]), auto("SAME_UPPER")], 10, 2, 1, 0),
            (vec![ints("strides", &[2]), auto("SAME_LOWER")], 10, 2, 1, 1),
            (vec![auto("VALID"), ints("strides", &[4])], 19, 4, 1, 0),
        ];
        for (attrs, len, stride, dilation, pad) in cases {
            for constant in [false, true] {
                let y = run(&[x, w], attrs.clone(), constant).unwrap();
                assert_eq!(y.dims.as_slice(), [2, 3, len], "{attrs:?}");
                for (y, expected) in y.values::<f32>().iter().zip(expected(x, w, len, stride, dilation, pad)) {
                    assert!((f64::from(*y) - expected).abs() < 1e-5, "{attrs:?}: {y} for {expected}");
                }
            }
        }
    }

    #[test]
    fn groups_and_bias() {
        let (x, w) = (&[1, 4, 3][..], &[4, 1, 2][..]);
        for constant in [false, true] {
            let y = run(&[x, w, &[2]], vec![("group", Attr::Int(2))], constant).unwrap();
            let bias = value(&[2], 3);
            for (index, (y, sum)) in y.values::<f32>().iter().zip(expected(x, w, 4, 1, 1, 0)).enumerate() {
                assert!((f64::from(*y) - sum - f64::from(bias.values::<f32>()[index / 4])).abs() < 1e-5);
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        let fails = |dims: &[&[usize]], attrs, text: &str| {
            let error = run(dims, attrs, false).unwrap_err().to_string();
            assert!(error.contains(text), "{error}");
        };
        fails(&[&[1, 3, 4], &[2, 2, 3]], vec![], "does not fit an image");
        fails(&[&[1, 2, 4], &[2, 2, 3], &[3]], vec![], "bias");
        fails(&[&[1, 2, 1], &[2, 2, 3]], vec![ints("pads", &[2, 2])], "output");
    }
}
