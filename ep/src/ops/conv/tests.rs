use kernels::tensor::{DType, elements};

use crate::Error;
use crate::ir::{Attr, Dim};
use crate::ops::attention_testing::value;
use crate::testing::{Model, Value};

type Attrs = Vec<(&'static str, Attr<'static>)>;

fn ints(name: &'static str, values: &[i64]) -> (&'static str, Attr<'static>) {
    (name, Attr::Ints(values.to_vec()))
}

/// Y of `op` for inputs of these shapes, the weight constant or not.
fn run(domain: &'static str, op: &str, dims: &[&[usize]], attrs: Attrs, constant: bool) -> Result<Value, Error> {
    let names = ["x", "w", "b", "z"];
    let mut model = Model::new();
    let mut given = Vec::new();
    for (index, dims) in dims.iter().enumerate() {
        let value = value(dims, index + 1);
        if index == 1 && constant {
            model.constant(names[index], dims, value.values::<f32>());
        } else {
            model.input::<f32>(names[index], dims);
            given.push(value);
        }
    }
    model.domain(domain).version(if domain.is_empty() { 11 } else { 1 });
    model.node(op, &names[..dims.len()], &["y"], attrs).output("y");
    Ok(model.run(&given)?.remove(0))
}

/// A convolution of two axes by its definition; `pads` are those before.
fn expected(x: &[usize], w: &[usize], out: &[usize], stride: usize, dilation: usize, pads: [usize; 2]) -> Vec<f64> {
    let (image, weight) = (value(x, 1), value(w, 2));
    let (image, weight) = (image.values::<f32>(), weight.values::<f32>());
    let per_group = w[0] / (x[1] / w[1]);
    let sum = |index: usize| {
        let (plane, row, column) = (index / (out[2] * out[3]), index / out[3] % out[2], index % out[3]);
        let (n, m) = (plane / out[1], plane % out[1]);
        let mut sum = 0.0;
        for (c, i, j) in (0..w[1] * w[2] * w[3]).map(|t| (t / (w[2] * w[3]), t / w[3] % w[2], t % w[3])) {
            let y = (row * stride + i * dilation).wrapping_sub(pads[0]);
            let x_at = (column * stride + j * dilation).wrapping_sub(pads[1]);
            if y < x[2] && x_at < x[3] {
                let channel = m / per_group * w[1] + c;
                let seen = image[((n * x[1] + channel) * x[2] + y) * x[3] + x_at];
                sum += f64::from(seen) * f64::from(weight[((m * w[1] + c) * w[2] + i) * w[3] + j]);
            }
        }
        sum
    };
    (0..elements(out)).map(sum).collect()
}

fn assert_near(y: &Value, expected: &[f64]) {
    assert_eq!(elements(&y.dims), expected.len());
    for (y, expected) in y.values::<f32>().iter().zip(expected) {
        assert!((f64::from(*y) - expected).abs() < 1e-5, "{y} for {expected}");
    }
}

#[test]
fn pads_as_given_and_automatic() {
    let (x, w) = (&[1, 2, 7, 6][..], &[3, 2, 3, 2][..]);
    let auto = |kind: &str| ("auto_pad", Attr::Str(kind.into()));
    // Attributes, shape of the output, stride, dilation, padding before.
    type Case = (Attrs, [usize; 4], usize, usize, [usize; 2]);
    let cases: [Case; 7] = [
        (vec![], [1, 3, 5, 5], 1, 1, [0, 0]),
        (vec![ints("pads", &[2, 1, 0, 1])], [1, 3, 7, 7], 1, 1, [2, 1]),
        (vec![ints("pads", &[1, 0, 0, 3]), ints("strides", &[2, 2])], [1, 3, 3, 4], 2, 1, [1, 0]),
        (vec![ints("dilations", &[2, 2]), ints("kernel_shape", &[3, 2])], [1, 3, 3, 4], 1, 2, [0, 0]),
        (vec![auto("SAME_UPPER"), ints("strides", &[2, 2])], [1, 3, 4, 3], 2, 1, [1, 0]),
        (vec![auto("SAME_LOWER")], [1, 3, 7, 6], 1, 1, [1, 1]),
        (vec![auto("VALID"), ints("strides", &[3, 3])], [1, 3, 2, 2], 3, 1, [0, 0]),
    ];
    for (attrs, out, stride, dilation, pads) in cases {
        for constant in [false, true] {
            let y = run("", "Conv", &[x, w], attrs.clone(), constant).unwrap();
            assert_eq!(y.dims.as_slice(), out);
            assert_near(&y, &expected(x, w, &out, stride, dilation, pads));
        }
    }
}

#[test]
fn groups_and_depthwise() {
    for (x, w, group) in [(&[2, 4, 5, 5], &[6, 2, 3, 3], 2), (&[2, 3, 5, 5], &[6, 1, 3, 3], 3)] {
        for constant in [false, true] {
            let y = run("", "Conv", &[x, w], vec![("group", Attr::Int(group))], constant).unwrap();
            assert_near(&y, &expected(x, w, &[2, 6, 3, 3], 1, 1, [0, 0]));
        }
    }
}

#[test]
fn bias_residual_and_activation() {
    let (x, w, out) = (&[1, 2, 4, 4][..], &[3, 2, 3, 3][..], &[1, 3, 2, 2][..]);
    let (bias, residual) = (value(&[3], 3), value(out, 4));
    let sums = expected(x, w, out, 1, 1, [0, 0]);
    let at = |i: usize| sums[i] + f64::from(bias.values::<f32>()[i / 4]);
    let added = |i: usize| f64::from(residual.values::<f32>()[i]);
    let text = |name, text: &str| (name, Attr::Str(text.into()));
    let dims = [x, w, &[3], out];
    let y = run("com.microsoft", "FusedConv", &dims, vec![text("activation", "Relu")], true).unwrap();
    assert_near(&y, &(0..12).map(|i| (at(i) + added(i)).max(0.0)).collect::<Vec<_>>());
    let clip = vec![text("activation", "Clip"), ("activation_params", Attr::Floats(vec![-0.1, 0.2]))];
    let y = run("com.microsoft", "FusedConv", &dims[..3], clip, false).unwrap();
    assert_near(&y, &(0..12).map(|i| at(i).clamp(f64::from(-0.1f32), f64::from(0.2f32))).collect::<Vec<_>>());
    let y = run("spacemit", "Conv", &dims, vec![text("activation", "relu")], true).unwrap();
    assert_near(&y, &(0..12).map(|i| at(i).max(0.0) + added(i)).collect::<Vec<_>>());
}

#[test]
fn one_and_three_axes() {
    let y = run("", "Conv", &[&[2, 3, 9], &[4, 3, 3], &[4]], vec![ints("pads", &[1, 1])], true).unwrap();
    assert_eq!(y.dims.as_slice(), [2, 4, 9]);
    let y = run("", "Conv", &[&[1, 2, 3, 4, 5], &[2, 2, 2, 2, 2]], vec![], true).unwrap();
    assert_eq!(y.dims.as_slice(), [1, 2, 2, 3, 4]);
    let y = run("", "Conv", &[&[0, 2, 3, 4], &[2, 2, 2, 2]], vec![], true).unwrap();
    assert_eq!(y.dims.as_slice(), [0, 2, 2, 3]);
}

#[test]
fn what_does_not_fit_is_an_error() {
    let fails = |dims: &[&[usize]], attrs, text: &str| {
        let error = run("", "Conv", dims, attrs, false).unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    };
    fails(&[&[1, 3, 4, 4], &[2, 2, 3, 3]], vec![], "does not fit an image");
    fails(&[&[1, 2, 4, 4], &[2, 2, 5, 3]], vec![], "5 taps");
    fails(&[&[1, 2, 4, 4], &[2, 2, 3, 3], &[3]], vec![], "bias");
    fails(&[&[1, 2, 4, 4], &[2, 2, 3, 3]], vec![ints("kernel_shape", &[2, 2])], "does not fit");
    fails(&[&[1, 2, 4, 4], &[2, 2, 3, 3]], vec![ints("strides", &[0, 1])], "declined, attribute");
    fails(&[&[1, 2, 4, 4], &[2, 2, 3, 3]], vec![ints("pads", &[-1, 0, 0, 0])], "declined, attribute");
    fails(&[&[1, 2, 4, 4], &[2, 2, 3, 3]], vec![("auto_pad", Attr::Str("MIRROR".into()))], "declined, attribute");
    let mut model = Model::new();
    model.input_of("x", DType::F32, vec![Dim::Unknown; 2]).input::<f32>("w", &[2, 2]);
    model.node("Conv", &["x", "w"], &["y"], vec![]).output("y");
    let error = model.run(&[value(&[1, 2], 1), value(&[2, 2], 2)]).unwrap_err().to_string();
    assert!(error.contains("rank 2"), "{error}");
}
