use half::f16;
use kernels::tensor::DType;

use crate::Error;
use crate::ir::{Attr, Dim};
use crate::testing::{Model, Value};

fn wave(len: usize, seed: usize) -> Vec<f32> {
    (0..len).map(|index| ((index * 37 + seed * 101) % 53) as f32 / 26.0 - 1.0).collect()
}

fn value(dims: &[usize], seed: usize) -> Value {
    Value::new(dims, &wave(dims.iter().product(), seed))
}

/// Runs one node; `None` leaves an input out. `outputs` names those asked for, "" leaves one out.
fn run(
    (domain, op): (&'static str, &str),
    inputs: &[Option<Value>],
    outputs: &[&str],
    attrs: Vec<(&'static str, Attr<'static>)>,
) -> Result<Vec<Value>, Error> {
    let names = ["a", "b", "c", "d", "e"];
    let mut model = Model::new();
    let mut given = Vec::new();
    for (name, value) in names.iter().zip(inputs) {
        if let Some(value) = value {
            let shape = value.dims.iter().map(|&dim| Dim::Known(dim)).collect();
            model.input_of(name, value.dtype, shape);
            given.push(value.clone());
        }
    }
    let names: Vec<&str> =
        names.iter().zip(inputs).map(|(name, value)| if value.is_some() { *name } else { "" }).collect();
    let version = if op == "RMSNormalization" {
        23
    } else if op == "LayerNormalization" {
        17
    } else {
        1
    };
    model.domain(domain).version(version).node(op, &names, outputs, attrs);
    outputs.iter().filter(|name| !name.is_empty()).for_each(|name| {
        model.output(name);
    });
    model.run(&given)
}

/// `(t - mean) / sqrt(var + epsilon) * gamma + beta` for rows of `cols`, and the means and inverse deviations.
fn expected(t: &[f64], cols: usize, epsilon: f64, rms: bool, gamma: &[f32], beta: &[f32]) -> [Vec<f64>; 3] {
    let mut all: [Vec<f64>; 3] = Default::default();
    for row in t.chunks(cols) {
        let mean = if rms { 0.0 } else { row.iter().sum::<f64>() / cols as f64 };
        let inverse = 1.0 / (row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / cols as f64 + epsilon).sqrt();
        let at = |data: &[f32], col: usize, neutral| data.get(col).map_or(neutral, |&x| f64::from(x));
        all[0].extend((0..cols).map(|col| (row[col] - mean) * inverse * at(gamma, col, 1.0) + at(beta, col, 0.0)));
        all[1].push(mean);
        all[2].push(inverse);
    }
    all
}

fn assert_close(actual: &Value, expected: &[f64]) {
    let actual = actual.values::<f32>();
    assert_eq!(actual.len(), expected.len());
    for (actual, expected) in actual.iter().zip(expected) {
        assert!((f64::from(*actual) - expected).abs() < 4e-6 * (1.0 + expected.abs()), "{actual} for {expected}");
    }
}

fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&x| f64::from(x)).collect()
}

#[test]
fn layer_normalization_from_any_axis_with_statistics() {
    let dims = [2, 3, 4];
    let x = value(&dims, 1);
    for (axis, cols) in [(None, 4), (Some(-1), 4), (Some(1), 12), (Some(0), 24), (Some(-2), 12)] {
        for with_beta in [false, true] {
            let inner: &[usize] = &dims[3 - [4, 12, 24].iter().position(|&c| c == cols).unwrap() - 1..];
            let (gamma, beta) = (value(inner, 2), value(inner, 3));
            let attrs = axis.map(|axis| ("axis", Attr::Int(axis))).into_iter().collect();
            let inputs = [Some(x.clone()), Some(gamma.clone()), with_beta.then(|| beta.clone())];
            let outputs = run(("", "LayerNormalization"), &inputs, &["y", "mean", "inv"], attrs).unwrap();
            let beta = if with_beta { beta.values() } else { &[] };
            let expected = expected(&wide(x.values()), cols, 1e-5, false, gamma.values(), beta);
            outputs.iter().zip(&expected).for_each(|(actual, expected)| assert_close(actual, expected));
            let mut reduced = dims.to_vec();
            reduced[3 - inner.len()..].fill(1);
            assert_eq!(outputs[1].dims.as_slice(), reduced);
            assert_eq!(outputs[2].dims.as_slice(), reduced);
        }
    }
}

#[test]
fn scales_spread_over_the_normalised_dimensions() {
    let x = value(&[2, 3, 4], 1);
    for dims in [&[4][..], &[3, 1], &[1], &[1, 3, 4], &[]] {
        let gamma = value(dims, 2);
        let full: Vec<f32> = (0..12)
            .map(|index| match dims {
                [4] => gamma.values::<f32>()[index % 4],
                [3, 1] => gamma.values::<f32>()[index / 4],
                [1, 3, 4] => gamma.values::<f32>()[index],
                _ => gamma.values::<f32>()[0],
            })
            .collect();
        let attrs = vec![("axis", Attr::Int(1)), ("epsilon", Attr::Float(0.5))];
        let outputs = run(("", "RMSNormalization"), &[Some(x.clone()), Some(gamma)], &["y"], attrs).unwrap();
        assert_close(&outputs[0], &expected(&wide(x.values()), 12, 0.5, true, &full, &[])[0]);
    }
    let error = run(("", "RMSNormalization"), &[Some(x), Some(value(&[3], 2))], &["y"], vec![]).unwrap_err();
    assert!(error.to_string().contains("[3]"), "{error}");
}

#[test]
fn simplified_layer_normalization_of_both_domains() {
    let (x, gamma) = (value(&[3, 5], 1), value(&[5], 2));
    for domain in ["", "com.microsoft"] {
        let inputs = [Some(x.clone()), Some(gamma.clone())];
        let outputs = run((domain, "SimplifiedLayerNormalization"), &inputs, &["y", "inv"], vec![]).unwrap();
        let [y, _, inverse] = expected(&wide(x.values()), 5, 1e-5, true, gamma.values(), &[]);
        assert_close(&outputs[0], &y);
        assert_close(&outputs[1], &inverse);
    }
}

#[test]
fn skip_normalizations_with_every_optional_operand() {
    let x = value(&[2, 3, 5], 1);
    for skip_dims in [&[2, 3, 5][..], &[1, 3, 5], &[3, 5], &[1, 1, 5], &[5]] {
        for bits in 0..16 {
            let (rms, with_beta, with_bias, with_sum) = (bits & 1 != 0, bits & 2 != 0, bits & 4 != 0, bits & 8 != 0);
            let (skip, gamma, beta, bias) = (value(skip_dims, 2), value(&[5], 3), value(&[5], 4), value(&[5], 5));
            let op = if rms { "SkipSimplifiedLayerNormalization" } else { "SkipLayerNormalization" };
            let mut inputs = vec![Some(x.clone()), Some(skip.clone()), Some(gamma.clone())];
            if !rms {
                inputs.push(with_beta.then(|| beta.clone()));
            }
            inputs.push(with_bias.then(|| bias.clone()));
            let names = match (with_sum, rms) {
                (false, _) => &["y"][..],
                (true, true) => &["y", "", "inverse", "sum"],
                (true, false) => &["y", "mean", "inverse", "sum"],
            };
            let attrs = vec![("epsilon", Attr::Float(1e-6))];
            let outputs = run(("com.microsoft", op), &inputs, names, attrs).unwrap();
            let skip = skip.values::<f32>();
            let sum: Vec<f64> = (x.values::<f32>().iter().enumerate())
                .map(|(at, &x)| {
                    let bias = if with_bias { bias.values::<f32>()[at % 5] } else { 0.0 };
                    f64::from(x) + f64::from(skip[at % skip.len()]) + f64::from(bias)
                })
                .collect();
            let beta = if with_beta && !rms { beta.values() } else { &[] };
            let [y, mean, inverse] = expected(&sum, 5, 1e-6, rms, gamma.values(), beta);
            let all = [&y, &mean, &inverse, &sum];
            let named = names.iter().zip(all).filter(|(name, _)| !name.is_empty());
            named.zip(&outputs).for_each(|((_, expected), output)| assert_close(output, expected));
        }
    }
}

#[test]
fn what_is_not_computed_is_declined() {
    let inputs = [Some(value(&[2, 3], 1)), Some(value(&[2, 3], 2)), Some(value(&[3], 3))];
    let op = ("com.microsoft", "SkipSimplifiedLayerNormalization");
    let error = run(op, &inputs, &["y", "mean"], vec![]).unwrap_err();
    assert!(error.to_string().contains("declined, output"), "{error}");
    let inputs = [Some(value(&[2, 3], 1)), Some(value(&[3], 2))];
    let attrs = vec![("stash_type", Attr::Int(11))];
    let error = run(("", "LayerNormalization"), &inputs, &["y"], attrs).unwrap_err();
    assert!(error.to_string().contains("declined, attribute"), "{error}");
}

#[test]
fn halves_are_computed_in_f32_and_rounded_once() {
    let x: Vec<f16> = wave(6, 1).into_iter().map(f16::from_f32).collect();
    let exact: Vec<f64> = x.iter().map(|x| x.to_f64()).collect();
    let inputs = [Some(Value::new(&[2, 3], &x)), Some(Value::new(&[3], &[f16::ONE; 3]))];
    let outputs = run(("", "LayerNormalization"), &inputs, &["y"], vec![]).unwrap();
    assert_eq!(outputs[0].dtype, DType::F16);
    let [y, ..] = expected(&exact, 3, 1e-5, false, &[], &[]);
    assert!(outputs[0].values::<f16>().iter().zip(y).all(|(actual, y)| *actual == f16::from_f64(y)));
}
