//! Normalisations of images `[N, C, ..]` with a scale and a shift for each channel.

use std::sync::Arc;

use kernels::mem::AlignedBuf;
use kernels::ops::arithmetic::{Arithmetic, ArithmeticOp};
use kernels::ops::norm::{Norm, NormKind};
use kernels::ops::scale_shift::ScaleShift;
use kernels::ops::unary::{Unary, UnaryOp};
use kernels::tensor::{DType, elements};

use super::{Code, Decline, Lower, Op, OpRow, Work};
use crate::plan::{Bind, BindError, Buf};

const ROW: OpRow = OpRow {
    domain: "",
    name: "InstanceNormalization",
    versions: 6..=28,
    inputs: 3..=3,
    outputs: 1..=1,
    attrs: &["epsilon"],
    work: Work::Heavy,
    lower: instance,
};

pub const ROWS: &[OpRow] = &[
    ROW,
    OpRow {
        name: "GroupNormalization",
        versions: 18..=28,
        attrs: &["epsilon", "num_groups", "stash_type"],
        lower: group,
        ..ROW
    },
    OpRow {
        name: "BatchNormalization",
        versions: 9..=28,
        inputs: 5..=5,
        attrs: &["epsilon", "momentum", "training_mode"],
        lower: batch,
        ..ROW
    },
];

/// Inputs: X, scale, bias.
struct GroupNorm {
    dtype: DType,
    epsilon: f32,
    /// `None`: each channel is a group.
    groups: Option<usize>,
    /// Scale and bias are those of groups, not of channels.
    by_group: bool,
}

/// The type of all inputs.
fn floats(cx: &Lower<'_, '_>) -> Result<DType, Decline> {
    let dtype = cx.float_input(0)?;
    (1..cx.inputs()).try_for_each(|index| cx.dtype_in(index, &[dtype]).map(|_| ()))?;
    Ok(dtype)
}

fn instance(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let epsilon = cx.attr_float("epsilon", 1e-5)?;
    Ok(Box::new(GroupNorm { dtype: floats(cx)?, epsilon, groups: None, by_group: false }))
}

fn group(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let groups = cx.attr_int("num_groups", 0)?;
    let positive = usize::try_from(groups).ok().filter(|&groups| groups > 0);
    let groups = positive.ok_or_else(|| Decline::new(Code::Attribute, format!("'num_groups' is {groups}")))?;
    if cx.attr_int("stash_type", 1)? != 1 {
        return Err(Decline::new(Code::Attribute, "statistics in another type than float are not supported"));
    }
    let (epsilon, by_group) = (cx.attr_float("epsilon", 1e-5)?, cx.version() < 21);
    Ok(Box::new(GroupNorm { dtype: floats(cx)?, epsilon, groups: Some(groups), by_group }))
}

/// `[N, C, elements of a channel]`.
fn image(b: &Bind<'_>) -> Result<[usize; 3], BindError> {
    match b.dims(0)?.as_slice() {
        &[batch, channels, ref inner @ ..] => Ok([batch, channels, elements(inner)]),
        dims => Err(BindError::new(format!("an input of shape {dims:?} has no channels"))),
    }
}

/// Input `index` in f32, which must have `count` numbers.
fn vector(b: &mut Bind<'_>, index: usize, count: usize) -> Result<Buf, BindError> {
    let dims = b.dims(index)?;
    match dims.as_slice() == [count] {
        true => b.input_f32(index),
        false => Err(BindError::new(format!("input {index} has shape {dims:?}, not [{count}]"))),
    }
}

impl Op for GroupNorm {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let [batch, channels, inner] = image(b)?;
        let groups = self.groups.unwrap_or(channels);
        if channels != 0 && !channels.is_multiple_of(groups) {
            return Err(BindError::new(format!("{channels} channels do not make {groups} groups")));
        }
        let scales = if self.by_group { groups } else { channels };
        let (x, scale, bias) = (b.input_f32(0)?, vector(b, 1, scales)?, vector(b, 2, scales)?);
        let dims = b.dims(0)?;
        let y = b.output_f32(0, self.dtype, &dims)?;
        let len = elements(&dims);
        if len == 0 {
            return Ok(());
        }
        let rows = batch * groups;
        let norm = Norm { gamma: false, ..Norm::new(NormKind::Layer, rows, len / rows, self.epsilon) };
        let normal = b.temp(DType::F32, len)?;
        b.step(norm, &[x], &[normal]);
        let inner = channels * inner / scales;
        b.step(ScaleShift { outer: batch, channels: scales, inner }, &[normal, scale, bias], &[y]);
        Ok(())
    }
}

/// `(X - mean) / sqrt(var + epsilon) * scale + B` of the inputs X, scale, B, mean, var.
struct BatchNorm {
    dtype: DType,
    epsilon: f32,
}

fn batch(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    if cx.attr_bool("training_mode", false)? {
        return Err(Decline::new(Code::Attribute, "statistics of the batch are not computed"));
    }
    (0..5).try_for_each(|index| cx.float_input(index).map(|_| ()))?;
    Ok(Box::new(BatchNorm { dtype: cx.dtype(0)?, epsilon: cx.attr_float("epsilon", 1e-5)? }))
}

impl Op for BatchNorm {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let [outer, channels, inner] = image(b)?;
        let x = b.input_f32(0)?;
        let (gamma, beta) = (vector(b, 1, channels)?, vector(b, 2, channels)?);
        let (mean, variance) = (vector(b, 3, channels)?, vector(b, 4, channels)?);
        let epsilon = b.constant(Arc::new(AlignedBuf::copy_of(&self.epsilon.to_ne_bytes())));
        let padded = combine(b, ArithmeticOp::Add, [variance, epsilon], [&[channels], &[]])?;
        let deviation = b.temp(DType::F32, channels)?;
        b.step(Unary::new(UnaryOp::Sqrt, channels), &[padded], &[deviation]);
        let vector = [channels];
        let both = [&vector[..]; 2];
        let scale = combine(b, ArithmeticOp::Div, [gamma, deviation], both)?;
        let shifted = combine(b, ArithmeticOp::Mul, [mean, scale], both)?;
        let shift = combine(b, ArithmeticOp::Sub, [beta, shifted], both)?;
        let dims = b.dims(0)?;
        let y = b.output_f32(0, self.dtype, &dims)?;
        b.step(ScaleShift { outer, channels, inner }, &[x, scale, shift], &[y]);
        Ok(())
    }
}

/// `op` of two buffers of these shapes, the first of which is that of the result.
fn combine(b: &mut Bind<'_>, op: ArithmeticOp, operands: [Buf; 2], dims: [&[usize]; 2]) -> Result<Buf, BindError> {
    let result = b.temp(DType::F32, elements(dims[0]))?;
    b.step(Arithmetic::new(op, DType::F32, dims[0], dims[1]), &operands, &[result]);
    Ok(result)
}

#[cfg(test)]
mod tests {
    use crate::Error;
    use crate::ir::Attr;
    use crate::ops::attention_testing::value;
    use crate::testing::{Model, Value};

    fn run(op: &str, version: i32, dims: &[&[usize]], attrs: Vec<(&str, Attr<'static>)>) -> Result<Value, Error> {
        let names = ["x", "a", "b", "c", "d"];
        let mut model = Model::new();
        let mut given = Vec::new();
        for (index, dims) in dims.iter().enumerate() {
            model.input::<f32>(names[index], dims);
            given.push(input(dims, index));
        }
        model.version(version).node(op, &names[..dims.len()], &["y"], attrs).output("y");
        Ok(model.run(&given)?.remove(0))
    }

    /// The variance, the last input, is not negative.
    fn input(dims: &[usize], index: usize) -> Value {
        let value = value(dims, index);
        let squares: Vec<f32> = value.values::<f32>().iter().map(|x| x * x).collect();
        if index == 4 { Value::new(dims, &squares) } else { value }
    }

    fn at(dims: &[usize], index: usize, i: usize) -> f64 {
        input(dims, index).values::<f32>()[i].into()
    }

    /// Values that have no spread are divided by the root of epsilon, which multiplies their rounding.
    fn assert_near(y: &Value, expected: impl Fn(usize) -> f64) {
        for (index, y) in y.values::<f32>().iter().enumerate() {
            let expected = expected(index);
            assert!((f64::from(*y) - expected).abs() < 1e-5, "element {index}: {y} for {expected}");
        }
    }

    #[test]
    fn groups_of_channels() {
        let x = [2, 4, 3, 5];
        for (op, version, groups, scales) in [
            ("GroupNormalization", 21, 2, 4),
            ("GroupNormalization", 18, 2, 2),
            ("GroupNormalization", 21, 4, 4),
            ("InstanceNormalization", 6, 4, 4),
        ] {
            let attrs =
                if groups == 2 || version > 6 { vec![("num_groups", Attr::Int(groups as i64))] } else { vec![] };
            let y = run(op, version, &[&x, &[scales], &[scales]], attrs).unwrap();
            let size = 4 / groups * 15;
            assert_near(&y, |i| {
                let row: Vec<f64> = (0..size).map(|j| at(&x, 0, i / size * size + j)).collect();
                let mean = row.iter().sum::<f64>() / size as f64;
                let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / size as f64;
                let channel = i / 15 % 4 * scales / 4;
                (row[i % size] - mean) / (variance + 1e-5).sqrt() * at(&[scales], 1, channel)
                    + at(&[scales], 2, channel)
            });
        }
    }

    #[test]
    fn batch_statistics_are_given() {
        let x = [2, 3, 4];
        let y = run("BatchNormalization", 15, &[&x, &[3], &[3], &[3], &[3]], vec![("epsilon", Attr::Float(0.5))]);
        assert_near(&y.unwrap(), |i| {
            let at = |index| at(&[3], index, i / 4 % 3);
            (self::at(&x, 0, i) - at(3)) / (at(4) + 0.5).sqrt() * at(1) + at(2)
        });
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        let fails = |op, version, dims: &[&[usize]], attrs, text: &str| {
            let error = run(op, version, dims, attrs).unwrap_err().to_string();
            assert!(error.contains(text), "{error}");
        };
        let groups = |groups| vec![("num_groups", Attr::Int(groups))];
        fails("GroupNormalization", 21, &[&[1, 4, 2], &[4], &[4]], groups(3), "do not make 3 groups");
        fails("GroupNormalization", 21, &[&[1, 4, 2], &[2], &[2]], groups(2), "input 1 has shape");
        fails("GroupNormalization", 21, &[&[1, 4, 2], &[4], &[4]], groups(0), "'num_groups' is 0");
        let training = vec![("training_mode", Attr::Int(1))];
        fails("BatchNormalization", 15, &[&[1, 2], &[2], &[2], &[2], &[2]], training, "statistics");
    }
}
