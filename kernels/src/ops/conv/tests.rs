use std::sync::Arc;

use super::*;
use crate::driver::RunError;
use crate::isa::Target;
use crate::ops::epilogue::{Activation, Epilogue, Position, Residual};
use crate::ops::matmul_int::{LeftSide, RightSide, ZeroPoint};
use crate::ops::window::WindowAxis;
use crate::reference::conv::{Axis, conv, conv_transpose};
use crate::testing::{floats, run_one};

/// input, kernel, stride, dilation, padding before and behind.
type AxisCase = [usize; 6];

fn axis([input, kernel, stride, dilation, before, behind]: AxisCase) -> WindowAxis {
    let output = (input + before + behind - dilation * (kernel - 1) - 1) / stride + 1;
    WindowAxis { input, kernel, output, stride, dilation, pad: before }
}

const ONE: AxisCase = [1, 1, 1, 1, 0, 0];

/// batch, groups, channels, filters, and the axes.
const CASES: &[([usize; 4], [AxisCase; 3])] = &[
    ([1, 1, 1, 1], [ONE, ONE, ONE]),
    ([2, 1, 3, 70], [ONE, ONE, [65, 3, 1, 1, 1, 1]]),
    ([1, 1, 5, 7], [ONE, ONE, [130, 3, 2, 1, 1, 1]]),
    ([1, 1, 2, 3], [ONE, ONE, [4, 3, 1, 2, 4, 0]]),
    ([1, 1, 33, 140], [ONE, [9, 1, 1, 1, 0, 0], [11, 1, 1, 1, 0, 0]]),
    ([2, 1, 3, 5], [ONE, [9, 3, 1, 1, 1, 1], [11, 3, 1, 1, 1, 1]]),
    ([1, 1, 3, 8], [ONE, [17, 7, 2, 1, 3, 3], [19, 5, 3, 1, 2, 1]]),
    ([1, 1, 2, 2], [ONE, [9, 3, 1, 2, 0, 3], [70, 2, 1, 3, 2, 0]]),
    ([2, 3, 2, 4], [ONE, [5, 2, 1, 1, 0, 0], [6, 3, 2, 1, 0, 2]]),
    ([2, 6, 1, 1], [ONE, [7, 3, 1, 1, 1, 1], [9, 3, 1, 1, 1, 1]]),
    ([1, 4, 1, 2], [ONE, [8, 3, 2, 1, 0, 1], [9, 5, 2, 2, 3, 2]]),
    ([1, 5, 1, 1], [ONE, ONE, [40, 4, 1, 1, 3, 0]]),
    ([1, 1, 2, 3], [[4, 2, 1, 1, 0, 1], [5, 3, 2, 1, 1, 0], [6, 3, 1, 2, 2, 1]]),
];

/// One target for each layout.
const TARGETS: [Target; 3] = [Target::host(1), Target::k1(), Target::k3()];

struct Case {
    sizes: [usize; 4],
    shape: ConvShape,
    axes: [WindowAxis; 3],
}

impl Case {
    fn all() -> impl Iterator<Item = Self> {
        CASES.iter().map(|&(sizes, axes)| {
            let ([batch, groups, channels, filters], axes) = (sizes, axes.map(axis));
            let shape = ConvShape { batch, groups, channels, filters, window: Window::new(&axes) };
            Self { sizes, shape, axes }
        })
    }

    fn image(&self) -> usize {
        self.shape.batch * self.shape.groups * self.shape.channels * self.shape.window.inputs()
    }

    fn weights(&self) -> usize {
        self.shape.groups * self.shape.filters * self.shape.depth()
    }

    fn output(&self) -> usize {
        self.shape.planes() * self.shape.window.positions()
    }

    fn channel(&self, element: usize) -> usize {
        element / self.shape.window.positions() % (self.shape.groups * self.shape.filters)
    }

    fn expected(&self, x: &[f64], w: &[f64]) -> Vec<f64> {
        conv(x, w, self.sizes, self.reference_axes())
    }

    fn reference_axes(&self) -> [Axis; 3] {
        self.axes.map(|WindowAxis { input, kernel, output, stride, dilation, pad }| Axis {
            input,
            kernel,
            output,
            stride,
            dilation,
            pad,
        })
    }
}

fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().copied().map(f64::from).collect()
}

/// Compares with numbers that the sum of `depth` products, a bias and a residual, all up to 1, rounds to.
fn assert_close(y: &[f32], expected: &[f64], depth: usize, what: &str) {
    let tolerance = f64::from(f32::EPSILON) * ((depth + 3) * (depth + 3)) as f64;
    for (index, (&y, &e)) in y.iter().zip(expected).enumerate() {
        assert!((f64::from(y) - e).abs() <= tolerance, "{what}: element {index} is {y}, not {e}");
    }
}

#[test]
fn windows_filters_and_groups_of_all_kinds() {
    for case in Case::all() {
        let (x, w) = (floats(case.image(), 1), floats(case.weights(), 2));
        let bias = floats(case.shape.groups * case.shape.filters, 3);
        let product = case.expected(&wide(&x), &wide(&w));
        let expected: Vec<f64> =
            product.iter().enumerate().map(|(index, x)| x + f64::from(bias[case.channel(index)])).collect();
        for (target, ranks) in [(TARGETS[0], 1), (TARGETS[0], 3), (TARGETS[1], 2), (TARGETS[2], 2)] {
            let filters = Filters::pack(&target, &w, case.shape.groups, case.shape.depth());
            let constant = FilterSource::Constant(Arc::new(filters));
            let driver = Conv::new(&target, case.shape, constant, true, Epilogue::NONE);
            let what = driver.to_string();
            let y = run_one::<f32>(driver, ranks, &[&x, &bias].map(|x| bytemuck::cast_slice(x)), case.output());
            assert_close(&y.unwrap(), &expected, case.shape.depth(), &what);
            let driver = Conv::new(&target, case.shape, FilterSource::Operand, false, Epilogue::NONE);
            let y = run_one::<f32>(driver, ranks, &[&x, &w].map(|x| bytemuck::cast_slice(x)), case.output());
            assert_close(&y.unwrap(), &product, case.shape.depth(), &what);
            if case.shape.channels == 1 {
                let driver = DepthwiseConv::new(case.shape, true, Epilogue::NONE);
                let inputs = [&x, &w, &bias].map(|x| bytemuck::cast_slice(x));
                let y = run_one::<f32>(driver, ranks, &inputs, case.output()).unwrap();
                assert_close(&y, &expected, case.shape.depth(), "depthwise");
            }
        }
    }
}

#[test]
fn activation_and_residual_follow_the_bias() {
    for case in Case::all() {
        let (x, w) = (floats(case.image(), 1), floats(case.weights(), 2));
        let (bias, added) = (floats(case.shape.groups * case.shape.filters, 3), floats(case.output(), 4));
        let n = case.shape.window.positions();
        let residual = Residual { position: Position::BeforeActivation, factor: 1.0, strides: [n, 1] };
        let epilogue = Epilogue { activation: Activation::Relu, residual: Some(residual), ..Epilogue::NONE };
        let product = case.expected(&wide(&x), &wide(&w)).into_iter().enumerate();
        let expected: Vec<f64> =
            product.map(|(i, y)| (y + f64::from(bias[case.channel(i)]) + f64::from(added[i])).max(0.0)).collect();
        let inputs = [&x, &w, &bias, &added].map(|x| bytemuck::cast_slice(x));
        let driver = Conv::new(&TARGETS[0], case.shape, FilterSource::Operand, true, epilogue);
        assert_close(
            &run_one::<f32>(driver, 2, &inputs, case.output()).unwrap(),
            &expected,
            case.shape.depth(),
            "conv",
        );
        if case.shape.channels == 1 {
            let driver = DepthwiseConv::new(case.shape, true, epilogue);
            let y = run_one::<f32>(driver, 2, &inputs, case.output()).unwrap();
            assert_close(&y, &expected, case.shape.depth(), "depthwise");
        }
    }
}

#[test]
fn integers_are_exact() {
    let bytes = |len, seed| -> Vec<u8> {
        floats(len, seed).iter().map(|x| (x * 700.0).clamp(-128.0, 127.0) as i8 as u8).collect()
    };
    let value = |x: u8, signed: bool| if signed { f64::from(x as i8) } else { f64::from(x) };
    for (index, case) in Case::all().enumerate() {
        let all = case.shape.groups * case.shape.filters;
        let (x, w, x_zero, w_zeros) = (bytes(case.image(), 1), bytes(case.weights(), 2), bytes(1, 5), bytes(all, 6));
        let bias: Vec<i32> = (0..all as i32).map(|i| i * 1000 - 500).collect();
        for zero_point in [ZeroPoint::Absent, ZeroPoint::Tensor, ZeroPoint::Rows] {
            let (x_signed, w_signed) = (index % 2 == 0, index % 3 != 0);
            let zeros = match zero_point {
                ZeroPoint::Absent => &[][..],
                ZeroPoint::Tensor => &w_zeros[..1],
                ZeroPoint::Rows => &w_zeros,
            };
            let image_zero_point = zero_point != ZeroPoint::Absent;
            let less = |x: &u8, zero: Option<&u8>, signed| value(*x, signed) - zero.map_or(0.0, |&z| value(z, signed));
            let filter_zero = |i: usize| zeros.get(i / case.shape.depth()).or(zeros.first());
            let image: Vec<f64> =
                x.iter().map(|x| less(x, x_zero.first().filter(|_| image_zero_point), x_signed)).collect();
            let filters: Vec<f64> = w.iter().enumerate().map(|(i, w)| less(w, filter_zero(i), w_signed)).collect();
            let sums = case.expected(&image, &filters).into_iter().enumerate();
            let expected: Vec<i32> = sums.map(|(i, sum)| sum as i32 + bias[case.channel(i)]).collect();
            let mut inputs = vec![&x[..], &w];
            if image_zero_point {
                inputs.extend([&x_zero[..], zeros]);
            }
            inputs.push(bytemuck::cast_slice(&bias));
            for (target, ranks) in [(TARGETS[0], 1), (TARGETS[0], 3), (TARGETS[1], 2), (TARGETS[2], 2)] {
                let filters = LeftSide { signed: w_signed, zero_point };
                let image = RightSide { signed: x_signed, zero_point: image_zero_point };
                let driver = ConvInt::new(&target, case.shape, image, filters, true);
                assert_eq!(run_one::<i32>(driver, ranks, &inputs, case.output()).unwrap(), expected, "case {index}");
            }
        }
    }
}

#[test]
fn transposed_convolutions_add_up_their_filters() {
    for case in Case::all() {
        let ConvShape { batch, groups, channels, filters, window } = case.shape;
        // The image of the case is Y, and its output X.
        let (x, w) = (floats(case.output(), 1), floats(case.weights(), 2));
        let bias = floats(groups * channels, 3);
        let shape = ConvShape { batch, groups, channels: filters, filters: channels, window };
        let plane = |i: usize| i / window.inputs() % (groups * channels);
        let sums = conv_transpose(&wide(&x), &wide(&w), case.sizes, case.reference_axes()).into_iter().enumerate();
        let expected: Vec<f64> = sums.map(|(i, sum)| sum + f64::from(bias[plane(i)])).collect();
        let rows = channels * window.taps();
        let transposed: Vec<f32> =
            (0..w.len()).map(|i| w[(i / filters / rows * filters + i % filters) * rows + i / filters % rows]).collect();
        for (target, ranks) in [(TARGETS[0], 1), (TARGETS[0], 3), (TARGETS[1], 2), (TARGETS[2], 2)] {
            let packed = Filters::pack_transposed(&target, &w, groups, filters, window.taps());
            let driver = ConvTranspose::new(&target, shape, FilterSource::Constant(Arc::new(packed)), true);
            let what = driver.to_string();
            let y = run_one::<f32>(driver, ranks, &[&x, &bias].map(|x| bytemuck::cast_slice(x)), case.image());
            assert_close(&y.unwrap(), &expected, filters * window.taps(), &what);
            let driver = ConvTranspose::new(&target, shape, FilterSource::Operand, true);
            let inputs = [&x, &transposed, &bias].map(|x| bytemuck::cast_slice(x));
            let y = run_one::<f32>(driver, ranks, &inputs, case.image()).unwrap();
            assert_close(&y, &expected, filters * window.taps(), &what);
        }
    }
}

#[test]
fn filters_that_were_never_packed_are_an_error() {
    let case = Case::all().next().unwrap();
    for target in TARGETS {
        let filters = FilterSource::Constant(Arc::new(Filters::planned()));
        let driver = Conv::new(&target, case.shape, filters, false, Epilogue::NONE);
        assert!(matches!(run_one::<f32>(driver, 1, &[&[0; 4]], 1), Err(RunError::Weights(_))));
    }
}
