//! Convolutions of 8-bit integers.

use kernels::isa::Target;
use kernels::ops::conv::ConvInt;
use kernels::ops::matmul_int::{LeftSide, MAX_K, RightSide, ZeroPoint};
use kernels::ops::quantize::Requantize;
use kernels::tensor::{DType, Dims, elements};

use super::window::WindowAttrs;
use super::{Code, Decline, Lower, Op, OpRow, Work, conv};
use crate::plan::{Bind, BindError, Buf};

const ROW: OpRow = OpRow {
    domain: "",
    name: "ConvInteger",
    versions: 10..=28,
    inputs: 2..=4,
    outputs: 1..=1,
    attrs: &["auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"],
    work: Work::Heavy,
    lower: conv_integer,
};

pub const ROWS: &[OpRow] = &[ROW, OpRow { name: "QLinearConv", inputs: 8..=9, lower: qlinear_conv, ..ROW }];

/// Where the operands of an integer convolution are among the inputs of its node.
struct Operands {
    x: usize,
    x_zero_point: usize,
    w: usize,
    w_zero_point: usize,
    bias: Option<usize>,
}

/// Inputs of ConvInteger: x, w, x_zero_point, w_zero_point.
const INTEGER: Operands = Operands { x: 0, x_zero_point: 2, w: 1, w_zero_point: 3, bias: None };
/// Inputs of QLinearConv: x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, B.
const QLINEAR: Operands = Operands { x: 0, x_zero_point: 2, w: 3, w_zero_point: 5, bias: Some(8) };

struct Sums {
    target: Target,
    operands: Operands,
    window: WindowAttrs,
    groups: usize,
    x_signed: bool,
    w_signed: bool,
}

impl Sums {
    fn lower(cx: &Lower<'_, '_>, operands: Operands) -> Result<Self, Decline> {
        let mut signed = [false; 2];
        let sides = [(operands.x, operands.x_zero_point), (operands.w, operands.w_zero_point)];
        for (signed, (value, zero_point)) in signed.iter_mut().zip(sides) {
            let dtype = cx.dtype_in(value, &[DType::U8, DType::I8])?;
            if cx.has_input(zero_point) {
                cx.dtype_in(zero_point, &[dtype])?;
            }
            *signed = dtype == DType::I8;
        }
        let [x_signed, w_signed] = signed;
        let (target, window, groups) = (*cx.target(), WindowAttrs::lower(cx)?, conv::group(cx)?);
        Ok(Self { target, operands, window, groups, x_signed, w_signed })
    }

    /// Adds the step that makes the sums: shape of the output, elements of one of its planes, and what to call with the
    /// buffer that takes them.
    fn bind(&self, b: &mut Bind<'_>) -> Result<(Dims, usize, Step), BindError> {
        let Operands { x, x_zero_point, w, w_zero_point, bias } = self.operands;
        let weight = b.dims(w)?;
        let (shape, out) = conv::shape(&self.window, self.groups, &b.dims(x)?, &weight)?;
        if shape.depth() > MAX_K {
            return Err(BindError::new(format!("sums over {} products may exceed 32 bits", shape.depth())));
        }
        let mut inputs = vec![b.input(x)?, b.input(w)?];
        let image_zero_point = b.has_input(x_zero_point);
        if image_zero_point {
            expect(b, x_zero_point, &[1])?;
            inputs.push(b.input(x_zero_point)?);
        }
        let mut zero_point = ZeroPoint::Absent;
        if b.has_input(w_zero_point) {
            let count = expect(b, w_zero_point, &[1, weight[0]])?;
            zero_point = if count == 1 { ZeroPoint::Tensor } else { ZeroPoint::Rows };
            inputs.push(b.input(w_zero_point)?);
        }
        let bias = bias.filter(|&bias| b.has_input(bias));
        if let Some(bias) = bias {
            expect(b, bias, &[weight[0]])?;
            inputs.push(b.input(bias)?);
        }
        let filters = LeftSide { signed: self.w_signed, zero_point };
        let image = RightSide { signed: self.x_signed, zero_point: image_zero_point };
        let driver = ConvInt::new(&self.target, shape, image, filters, bias.is_some());
        Ok((out, shape.window.positions(), Step { driver, inputs }))
    }
}

struct Step {
    driver: ConvInt,
    inputs: Vec<Buf>,
}

/// The number of elements of input `index`, which must be one of `counts`.
fn expect(b: &Bind<'_>, index: usize, counts: &[usize]) -> Result<usize, BindError> {
    let dims = b.dims(index)?;
    let count = elements(&dims);
    match counts.contains(&count) {
        true => Ok(count),
        false => Err(BindError::new(format!("input {index} of shape {dims:?} has not {counts:?} elements"))),
    }
}

struct ConvInteger(Sums);

fn conv_integer(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    Ok(Box::new(ConvInteger(Sums::lower(cx, INTEGER)?)))
}

impl Op for ConvInteger {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let (out, _, step) = self.0.bind(b)?;
        let y = b.output(0, DType::I32, &out)?;
        if elements(&out) != 0 {
            b.step(step.driver, &step.inputs, &[y]);
        }
        Ok(())
    }
}

struct QLinearConv {
    sums: Sums,
    y_signed: bool,
}

fn qlinear_conv(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    for scale in [1, 4, 6] {
        cx.dtype_in(scale, &[DType::F32])?;
    }
    let y = cx.dtype_in(7, &[DType::U8, DType::I8])?;
    if cx.output_dtype(0).is_some_and(|dtype| dtype != y) {
        return Err(Decline::new(Code::DType, "the output has not the type of its zero point"));
    }
    if cx.has_input(8) {
        cx.dtype_in(8, &[DType::I32])?;
    }
    Ok(Box::new(QLinearConv { sums: Sums::lower(cx, QLINEAR)?, y_signed: y == DType::I8 }))
}

impl Op for QLinearConv {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let (out, positions, step) = self.sums.bind(b)?;
        for index in [1, 6, 7] {
            expect(b, index, &[1])?;
        }
        expect(b, 4, &[1, out[1]])?;
        let y = b.output(0, if self.y_signed { DType::I8 } else { DType::U8 }, &out)?;
        if elements(&out) == 0 {
            return Ok(());
        }
        let sums = b.temp(DType::I32, elements(&out))?;
        b.step(step.driver, &step.inputs, &[sums]);
        let operands = [sums, b.input(1)?, b.input(4)?, b.input(6)?, b.input(7)?];
        let (len, n, signed) = (elements(&out), out[1], self.y_signed);
        b.step(Requantize { len, n, inner: positions, signed }, &operands, &[y]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use kernels::tensor::DType;

    use crate::ir::Attr;
    use crate::testing::{Model, Value};

    const X: [u8; 12] = [3, 250, 128, 7, 0, 255, 90, 61, 200, 17, 44, 150];
    const W: [i8; 8] = [1, -128, 127, 9, -55, 0, 3, 77];

    /// Sums of two filters `[1, 2, 2]` over an image `[1, 1, 3, 4]` with a column of zeros before.
    fn sums(x_zero: i32, w_zeros: [i32; 2]) -> Vec<i32> {
        let seen = |row: usize, column: usize| match column {
            0 => 0,
            _ => i32::from(X[row * 4 + column - 1]) - x_zero,
        };
        let mut sums = Vec::new();
        for (filter, zero) in w_zeros.into_iter().enumerate() {
            for (row, column) in (0..8).map(|at| (at / 4, at % 4)) {
                let tap = |t: usize| seen(row + t / 2, column + t % 2) * (i32::from(W[filter * 4 + t]) - zero);
                sums.push((0..4).map(tap).sum());
            }
        }
        sums
    }

    fn pads() -> Vec<(&'static str, Attr<'static>)> {
        vec![("pads", Attr::Ints(vec![0, 1, 0, 0]))]
    }

    #[test]
    fn integer_sums() {
        let mut model = Model::new();
        model.input::<u8>("x", &[1, 1, 3, 4]).constant("w", &[2, 1, 2, 2], &W).constant("xz", &[], &[5u8]);
        model.constant("wz", &[2], &[3i8, -9]).typed("y", DType::I32, vec![]);
        model.node("ConvInteger", &["x", "w", "xz", "wz"], &["y"], pads()).output("y");
        let y = model.run(&[Value::new(&[1, 1, 3, 4], &X)]).unwrap();
        assert_eq!(y[0], Value::new(&[1, 2, 2, 4], &sums(5, [3, -9])));
    }

    #[test]
    fn rescales_by_channel() {
        let (x_scale, w_scales, y_scale, bias) = (0.02f32, [0.5f32, 0.02], 0.3f32, [1000i32, -2000]);
        let mut model = Model::new();
        model.input::<u8>("x", &[1, 1, 3, 4]).constant("xs", &[], &[x_scale]).constant("xz", &[], &[100u8]);
        model.constant("w", &[2, 1, 2, 2], &W).constant("ws", &[2], &w_scales).constant("wz", &[2], &[0i8, 0]);
        model.constant("ys", &[], &[y_scale]).constant("yz", &[], &[-7i8]).constant("b", &[2], &bias);
        model.typed("y", DType::I8, vec![]);
        model.node("QLinearConv", &["x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"], &["y"], pads()).output("y");
        let y = model.run(&[Value::new(&[1, 1, 3, 4], &X)]).unwrap();
        let expected: Vec<i8> = sums(100, [0, 0])
            .into_iter()
            .enumerate()
            .map(|(i, sum)| {
                let scaled = (sum + bias[i / 8]) as f32 * (x_scale * w_scales[i / 8] / y_scale);
                (scaled.round_ties_even() - 7.0).clamp(-128.0, 127.0) as i8
            })
            .collect();
        assert_eq!(y[0], Value::new(&[1, 2, 2, 4], &expected));
    }

    #[test]
    fn numbers_of_zero_points_must_fit() {
        let mut model = Model::new();
        model.input::<u8>("x", &[1, 1, 3, 4]).constant("w", &[2, 1, 2, 2], &W).constant("xz", &[2], &[5u8, 5]);
        model.node("ConvInteger", &["x", "w", "xz"], &["y"], pads()).output("y");
        let error = model.run(&[Value::new(&[1, 1, 3, 4], &X)]).unwrap_err().to_string();
        assert!(error.contains("has not [1] elements"), "{error}");
    }
}
