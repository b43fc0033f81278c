//! Softmax and LogSoftmax.

use kernels::ops::softmax::Softmax as Driver;
use kernels::tensor::{DType, elements};

use super::{Decline, Lower, Op, OpRow, Work, axes};
use crate::plan::{Bind, BindError};

pub const ROWS: &[OpRow] = &[row("Softmax", |cx| lower(cx, false)), row("LogSoftmax", |cx| lower(cx, true))];

const fn row(name: &'static str, lower: fn(&Lower<'_, '_>) -> Result<Box<dyn Op>, Decline>) -> OpRow {
    OpRow {
        domain: "",
        name,
        versions: 1..=28,
        inputs: 1..=1,
        outputs: 1..=1,
        attrs: &["axis"],
        work: Work::Light,
        lower,
    }
}

struct Softmax {
    dtype: DType,
    axis: i64,
    /// Before version 13 all dimensions from the axis on count as one.
    flatten: bool,
    log: bool,
}

fn lower(cx: &Lower<'_, '_>, log: bool) -> Result<Box<dyn Op>, Decline> {
    let flatten = cx.version() < 13;
    let axis = cx.attr_int("axis", if flatten { 1 } else { -1 })?;
    Ok(Box::new(Softmax { dtype: cx.float_input(0)?, axis, flatten, log }))
}

impl Op for Softmax {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let dims = b.dims(0)?;
        // The old versions take the rank itself too: every element is then a row of its own.
        let at_end = self.flatten && self.axis == dims.len() as i64;
        let axis = if at_end { dims.len() } else { axes::resolve(self.axis, dims.len())? };
        let x = b.input_f32(0)?;
        let y = b.output_f32(0, self.dtype, &dims)?;
        if elements(&dims) == 0 {
            // The product of its other dimensions may be any number.
            return Ok(());
        }
        let outer = dims[..axis].iter().product();
        let driver = match self.flatten {
            true => Driver::new(outer, dims[axis..].iter().product(), 1, self.log),
            false => Driver::new(outer, dims[axis], dims[axis + 1..].iter().product(), self.log),
        };
        b.step(driver, &[x], &[y]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use half::f16;

    use crate::ir::Attr;
    use crate::testing::{Model, Value};

    fn run(op: &str, version: i32, axis: Option<i64>, x: &Value) -> Value {
        let mut model = Model::new();
        let shape = x.dims.iter().map(|&dim| crate::ir::Dim::Known(dim)).collect();
        let attrs = axis.map(|axis| ("axis", Attr::Int(axis))).into_iter().collect();
        model.input_of("x", x.dtype, shape).version(version).node(op, &["x"], &["y"], attrs).output("y");
        model.run(std::slice::from_ref(x)).unwrap().remove(0)
    }

    /// Softmax over groups of `axis` elements that are `inner` apart.
    fn expected(x: &[f32], axis: usize, inner: usize, log: bool) -> Vec<f64> {
        let value = |index: usize| {
            let first = index / (axis * inner) * axis * inner + index % inner;
            let sum: f64 = (0..axis).map(|step| f64::from(x[first + step * inner]).exp()).sum();
            let log_p = f64::from(x[index]) - sum.ln();
            if log { log_p } else { log_p.exp() }
        };
        (0..x.len()).map(value).collect()
    }

    #[test]
    fn both_meanings_of_the_axis() {
        let values: Vec<f32> = (0..24).map(|index| (index * 7 % 11) as f32 / 4.0).collect();
        let x = Value::new(&[2, 3, 4], &values);
        for (version, axis, width, inner) in [
            (13, None, 4, 1),
            (13, Some(1), 3, 4),
            (13, Some(0), 2, 12),
            (13, Some(-1), 4, 1),
            (11, None, 12, 1),
            (11, Some(-1), 4, 1),
            (1, Some(0), 24, 1),
            (1, Some(3), 1, 1),
        ] {
            for (op, log) in [("Softmax", false), ("LogSoftmax", true)] {
                let y = run(op, version, axis, &x);
                assert_eq!(y.dims, x.dims);
                for (y, expected) in y.values::<f32>().iter().zip(expected(&values, width, inner, log)) {
                    assert!((f64::from(*y) - expected).abs() < 2e-6, "{op} {version} {axis:?}: {y} for {expected}");
                }
            }
        }
    }

    #[test]
    fn halves_are_computed_in_f32() {
        let x: Vec<f16> = [0.0, 1.0, 2.0].map(f16::from_f32).to_vec();
        let y = run("Softmax", 13, None, &Value::new(&[1, 3], &x));
        let expected = expected(&[0.0, 1.0, 2.0], 3, 1, false);
        assert!(y.values::<f16>().iter().zip(expected).all(|(y, expected)| *y == f16::from_f64(expected)));
    }

    #[test]
    fn empty_tensors_and_wrong_axes() {
        let y = run("Softmax", 13, Some(0), &Value::new::<f32>(&[0, 4], &[]));
        assert_eq!(y.dims.as_slice(), [0, 4]);
        let mut model = Model::new();
        model.input::<f32>("x", &[2]).version(13).node("Softmax", &["x"], &["y"], vec![("axis", Attr::Int(1))]);
        model.output("y");
        assert!(model.run(&[Value::new(&[2], &[0.0f32; 2])]).unwrap_err().to_string().contains("axis 1"));
    }
}
