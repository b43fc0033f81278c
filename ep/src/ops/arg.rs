use kernels::ops::arg::{Arg as Driver, ArgOp};
use kernels::tensor::{DType, Dims, elements};

use super::axes;
use super::numeric::{self, computed, shared_dtype};
use super::{Decline, Lower, Op, OpRow, Work};
use crate::plan::{Bind, BindError};

const ARG_MAX: OpRow = OpRow {
    domain: "",
    name: "ArgMax",
    versions: 1..=28,
    inputs: 1..=1,
    outputs: 1..=1,
    attrs: &["axis", "keepdims", "select_last_index"],
    work: Work::Heavy,
    lower: |cx| lower(cx, ArgOp::Max),
};

pub const ROWS: &[OpRow] = &[ARG_MAX, OpRow { name: "ArgMin", lower: |cx| lower(cx, ArgOp::Min), ..ARG_MAX }];

struct Arg {
    op: ArgOp,
    dtype: DType,
    axis: i64,
    keep_dims: bool,
    last: bool,
}

fn lower(cx: &Lower<'_, '_>, op: ArgOp) -> Result<Box<dyn Op>, Decline> {
    Ok(Box::new(Arg {
        op,
        dtype: shared_dtype(cx, 1, Driver::supports)?,
        axis: cx.attr_int("axis", 0)?,
        keep_dims: cx.attr_bool("keepdims", true)?,
        last: cx.attr_bool("select_last_index", false)?,
    }))
}

impl Op for Arg {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let dims = b.dims(0)?;
        let axis = axes::resolve(self.axis, dims.len())?;
        let (before, after) = (&dims[..axis], &dims[axis + 1..]);
        let (outer, inner) = (elements(before), elements(after));
        let middle: &[usize] = if self.keep_dims { &[1] } else { &[] };
        let out: Dims = before.iter().chain(middle).chain(after).copied().collect();
        let x = numeric::input(b, 0, self.dtype)?;
        let y = b.output(0, DType::I64, &out)?;
        if elements(&out) == 0 {
            return Ok(());
        }
        if dims[axis] == 0 {
            return Err(BindError::new(format!("axis {axis} of shape {:?} has no element to choose", dims.as_slice())));
        }
        b.step(Driver::new(self.op, computed(self.dtype), outer, dims[axis], inner, self.last), &[x], &[y]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use half::f16;
    use kernels::tensor::{DType, Element};

    use crate::Error;
    use crate::ir::Attr;
    use crate::testing::{Model, Value};

    fn run<T: Element>(op: &str, attrs: &[(&'static str, i64)], x: &Value) -> Result<Value, Error> {
        let attrs = attrs.iter().map(|&(name, value)| (name, Attr::Int(value))).collect();
        let mut model = Model::new();
        model.input::<T>("x", &x.dims).typed("y", DType::I64, vec![]).node(op, &["x"], &["y"], attrs).output("y");
        Ok(model.run(std::slice::from_ref(x))?.remove(0))
    }

    #[test]
    fn axes_ties_and_types() {
        let x = Value::new(&[2, 3], &[1f32, 5.0, 5.0, 7.0, -1.0, 7.0]);
        let max = |attrs: &[_]| run::<f32>("ArgMax", attrs, &x).unwrap();
        assert_eq!(max(&[]), Value::new(&[1, 3], &[1i64, 0, 1]));
        assert_eq!(max(&[("axis", -1), ("keepdims", 0)]), Value::new(&[2], &[1i64, 0]));
        assert_eq!(max(&[("axis", 1), ("select_last_index", 1)]), Value::new(&[2, 1], &[2i64, 2]));
        let min = run::<f32>("ArgMin", &[("axis", 1), ("keepdims", 0)], &x).unwrap();
        assert_eq!(min, Value::new(&[2], &[0i64, 1]));
        let halves = Value::new(&[3], &[1.0, 3.0, 2.0].map(f16::from_f32));
        assert_eq!(run::<f16>("ArgMax", &[("keepdims", 0)], &halves).unwrap(), Value::new(&[], &[1i64]));
        let bytes = Value::new(&[3], &[9u8, 200, 3]);
        assert_eq!(run::<u8>("ArgMax", &[], &bytes).unwrap(), Value::new(&[1], &[1i64]));
    }

    #[test]
    fn an_empty_axis_is_an_error() {
        let x = Value::new::<f32>(&[2, 0], &[]);
        assert!(run::<f32>("ArgMax", &[("axis", 1)], &x).unwrap_err().to_string().contains("axis 1"));
        assert_eq!(run::<f32>("ArgMax", &[("axis", 0)], &x).unwrap(), Value::new::<i64>(&[1, 0], &[]));
        assert!(run::<f32>("ArgMax", &[("axis", 2)], &x).unwrap_err().to_string().contains("axis 2"));
    }
}
