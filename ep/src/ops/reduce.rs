//! Reductions over axes.

use kernels::ops::reduce::{Reduce as Driver, ReduceOp};
use kernels::tensor::{DType, Dims};

use super::axes::{self, IntList};
use super::numeric::{self, computed, shared_dtype};
use super::{Code, Decline, Lower, Op, OpRow, Work};
use crate::plan::{Bind, BindError};

/// The axes are an input since version 18, those of ReduceSum since 13.
const fn row(name: &'static str, lower: fn(&Lower<'_, '_>) -> Result<Box<dyn Op>, Decline>) -> OpRow {
    OpRow {
        domain: "",
        name,
        versions: 1..=28,
        inputs: 1..=2,
        outputs: 1..=1,
        attrs: &["axes", "keepdims", "noop_with_empty_axes"],
        work: Work::Heavy,
        lower,
    }
}

pub const ROWS: &[OpRow] = &[
    row("ReduceL1", |cx| lower(cx, ReduceOp::L1, 18)),
    row("ReduceL2", |cx| lower(cx, ReduceOp::L2, 18)),
    row("ReduceLogSum", |cx| lower(cx, ReduceOp::LogSum, 18)),
    row("ReduceLogSumExp", |cx| lower(cx, ReduceOp::LogSumExp, 18)),
    row("ReduceMax", |cx| lower(cx, ReduceOp::Max, 18)),
    row("ReduceMean", |cx| lower(cx, ReduceOp::Mean, 18)),
    row("ReduceMin", |cx| lower(cx, ReduceOp::Min, 18)),
    row("ReduceProd", |cx| lower(cx, ReduceOp::Prod, 18)),
    row("ReduceSum", |cx| lower(cx, ReduceOp::Sum, 13)),
    row("ReduceSumSquare", |cx| lower(cx, ReduceOp::SumSquare, 18)),
];

struct Reduce {
    op: ReduceOp,
    dtype: DType,
    axes: IntList,
    keep_dims: bool,
    /// Without axes: nothing is reduced, rather than everything.
    keep_all: bool,
}

fn lower(cx: &Lower<'_, '_>, op: ReduceOp, axes_are_input: i32) -> Result<Box<dyn Op>, Decline> {
    let dtype = shared_dtype(cx, 1, |dtype| Driver::supports(op, dtype))?;
    let axes = IntList::lower(cx, "axes", 1, axes_are_input)?;
    let keep_all = cx.attr_bool("noop_with_empty_axes", false)?;
    let keeps_single_elements =
        matches!(op, ReduceOp::Max | ReduceOp::Mean | ReduceOp::Min | ReduceOp::Prod | ReduceOp::Sum);
    if keep_all && !keeps_single_elements && cx.constant(1).is_none_or(|axes| axes.elements() == 0) {
        let reason = "'noop_with_empty_axes' is 1 and the axes are not known to be given; what this operator does \
                      to single elements then is not defined the same everywhere";
        return Err(Decline::new(Code::Attribute, reason));
    }
    Ok(Box::new(Reduce { op, dtype, axes, keep_dims: cx.attr_bool("keepdims", true)?, keep_all }))
}

impl Op for Reduce {
    fn shape_inputs(&self) -> &[usize] {
        match self.axes {
            IntList::Input(_) => &[1],
            _ => &[],
        }
    }

    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let dims = b.dims(0)?;
        let given = self.axes.get(b)?.unwrap_or_default();
        if given.is_empty() && self.keep_all {
            return b.alias(0, 0, &dims);
        }
        let mut reduced = vec![given.is_empty(); dims.len()];
        for axis in axes::resolve_all(&given, dims.len())? {
            reduced[axis] = true;
        }
        let kept = |(&dim, &reduced): (&usize, &bool)| match reduced {
            false => Some(dim),
            true => self.keep_dims.then_some(1),
        };
        let out: Dims = dims.iter().zip(&reduced).filter_map(kept).collect();
        let x = numeric::input(b, 0, self.dtype)?;
        let y = numeric::output(b, self.dtype, &out)?;
        b.step(Driver::new(self.op, computed(self.dtype), &dims, &reduced), &[x], &[y]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use half::f16;
    use kernels::tensor::Element;

    use crate::Error;
    use crate::ir::Attr;
    use crate::testing::{Model, Value};

    type Attrs = Vec<(&'static str, Attr<'static>)>;

    fn keep(keep: i64) -> (&'static str, Attr<'static>) {
        ("keepdims", Attr::Int(keep))
    }

    fn with_attr(op: &str, version: i32, attrs: Attrs, x: &Value) -> Result<Value, Error> {
        let mut model = Model::new();
        model.version(version).input::<f32>("x", &x.dims).node(op, &["x"], &["y"], attrs).output("y");
        Ok(model.run(std::slice::from_ref(x))?.remove(0))
    }

    fn with_input<T: Element>(op: &str, axes: &[i64], attrs: Attrs, x: &Value) -> Result<Value, Error> {
        let mut model = Model::new();
        model.input::<T>("x", &x.dims).constant("axes", &[axes.len()], axes);
        model.node(op, &["x", "axes"], &["y"], attrs).output("y");
        Ok(model.run(std::slice::from_ref(x))?.remove(0))
    }

    #[test]
    fn every_operator() {
        let x = Value::new(&[2, 2], &[3f32, -4.0, 1.0, 2.0]);
        let check = |op, want: [f32; 2]| {
            let y = with_input::<f32>(op, &[-1], vec![keep(0)], &x).unwrap();
            assert_eq!(y, Value::new(&[2], &want), "{op}");
        };
        check("ReduceL1", [7.0, 3.0]);
        check("ReduceL2", [5.0, 5f32.sqrt()]);
        check("ReduceMax", [3.0, 2.0]);
        check("ReduceMean", [-0.5, 1.5]);
        check("ReduceMin", [-4.0, 1.0]);
        check("ReduceProd", [-12.0, 2.0]);
        check("ReduceSum", [-1.0, 3.0]);
        check("ReduceSumSquare", [25.0, 5.0]);
        let log_sum_exp = |a: f64, b: f64| (a.exp() + b.exp()).ln() as f32;
        check("ReduceLogSumExp", [log_sum_exp(3.0, -4.0), log_sum_exp(1.0, 2.0)]);
        let x = Value::new(&[2], &[3f32, 4.0]);
        let y = with_input::<f32>("ReduceLogSum", &[0], vec![], &x).unwrap();
        assert_eq!(y, Value::new(&[1], &[7f64.ln() as f32]));
    }

    #[test]
    fn axes_as_attribute_as_input_and_absent() {
        let x = Value::new(&[2, 3], &[1f32, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let axes = |axes: &'static [i64]| ("axes", Attr::Ints(axes.into()));
        let by_attr = |version, attrs| with_attr("ReduceMean", version, attrs, &x).unwrap();
        assert_eq!(by_attr(13, vec![axes(&[0])]), Value::new(&[1, 3], &[2.5f32, 3.5, 4.5]));
        assert_eq!(by_attr(1, vec![axes(&[-1]), keep(0)]), Value::new(&[2], &[2f32, 5.0]));
        assert_eq!(by_attr(18, vec![]), Value::new(&[1, 1], &[3.5f32]));
        assert_eq!(by_attr(18, vec![keep(0)]), Value::new(&[], &[3.5f32]));
        let by_input = |axes: &[i64], attrs| with_input::<f32>("ReduceSum", axes, attrs, &x).unwrap();
        assert_eq!(by_input(&[0, -1], vec![keep(0)]), Value::new(&[], &[21f32]));
        assert_eq!(by_input(&[], vec![]), Value::new(&[1, 1], &[21f32]));
        assert_eq!(by_input(&[], vec![("noop_with_empty_axes", Attr::Int(1))]), x);
        assert!(with_input::<f32>("ReduceSum", &[2], vec![], &x).unwrap_err().to_string().contains("axis 2"));
        let noop = vec![("noop_with_empty_axes", Attr::Int(1))];
        assert!(with_attr("ReduceL2", 18, noop, &x).unwrap_err().to_string().contains("noop_with_empty_axes"));
    }

    #[test]
    fn halves_sum_in_wider_types_and_integers_stay() {
        let values = vec![f16::from_f32(0.5); 41_000];
        let y = with_input::<f16>("ReduceSum", &[0], vec![keep(0)], &Value::new(&[41_000], &values)).unwrap();
        assert_eq!(y, Value::new(&[], &[f16::from_f32(20_500.0)]));
        let x = Value::new(&[2, 2], &[7i64, -8, 5, 6]);
        let y = with_input::<i64>("ReduceProd", &[1], vec![keep(0)], &x).unwrap();
        assert_eq!(y, Value::new(&[2], &[-56i64, 30]));
        let empty = Value::new::<f32>(&[2, 0], &[]);
        let y = with_input::<f32>("ReduceMax", &[1], vec![keep(0)], &empty).unwrap();
        assert_eq!(y, Value::new(&[2], &[f32::NEG_INFINITY; 2]));
    }
}
