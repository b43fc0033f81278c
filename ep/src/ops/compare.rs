//! Comparisons and logical operators on two operands.

use kernels::ops::compare::{Compare as Driver, CompareOp};
use kernels::tensor::DType;

use super::numeric::{self, broadcast, computed, shared_dtype};
use super::{Decline, Lower, Op, OpRow, Work};
use crate::plan::{Bind, BindError};

/// Broadcasting has its present meaning since version 7.
const fn row(name: &'static str, lower: fn(&Lower<'_, '_>) -> Result<Box<dyn Op>, Decline>) -> OpRow {
    OpRow { domain: "", name, versions: 7..=28, inputs: 2..=2, outputs: 1..=1, attrs: &[], work: Work::Light, lower }
}

pub const ROWS: &[OpRow] = &[
    row("And", |cx| lower(cx, CompareOp::And)),
    row("Equal", |cx| lower(cx, CompareOp::Equal)),
    row("Greater", |cx| lower(cx, CompareOp::Greater)),
    row("GreaterOrEqual", |cx| lower(cx, CompareOp::GreaterOrEqual)),
    row("Less", |cx| lower(cx, CompareOp::Less)),
    row("LessOrEqual", |cx| lower(cx, CompareOp::LessOrEqual)),
    row("Or", |cx| lower(cx, CompareOp::Or)),
    row("Xor", |cx| lower(cx, CompareOp::Xor)),
];

struct Compare {
    op: CompareOp,
    dtype: DType,
}

fn lower(cx: &Lower<'_, '_>, op: CompareOp) -> Result<Box<dyn Op>, Decline> {
    Ok(Box::new(Compare { op, dtype: shared_dtype(cx, 2, |dtype| Driver::supports(op, dtype))? }))
}

impl Op for Compare {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let (a_dims, b_dims) = (b.dims(0)?, b.dims(1)?);
        let dims = broadcast(&[&a_dims, &b_dims])?;
        let inputs = [numeric::input(b, 0, self.dtype)?, numeric::input(b, 1, self.dtype)?];
        let y = b.output(0, DType::Bool, &dims)?;
        b.step(Driver::new(self.op, computed(self.dtype), &a_dims, &b_dims), &inputs, &[y]);
        if self.op == CompareOp::And {
            b.bound_output(0, b.upper_bound(0).or_else(|| b.upper_bound(1)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use half::f16;
    use kernels::tensor::DType;

    use crate::ir::Dim;
    use crate::testing::{Model, Value};

    fn run(op: &str, a: Value, b: Value) -> Result<Vec<u8>, crate::Error> {
        let mut model = Model::new();
        for (name, value) in [("a", &a), ("b", &b)] {
            model.input_of(name, value.dtype, value.dims.iter().map(|&dim| Dim::Known(dim)).collect());
        }
        model.typed("y", DType::Bool, vec![]).node(op, &["a", "b"], &["y"], vec![]).output("y");
        let y = model.run(&[a, b])?.remove(0);
        assert_eq!(y.dtype, DType::Bool);
        Ok(y.values::<u8>().to_vec())
    }

    #[test]
    fn comparisons_of_each_kind_of_number() {
        let wants: [(&str, [u8; 4]); 5] = [
            ("Equal", [0, 1, 0, 0]),
            ("Less", [1, 0, 0, 0]),
            ("LessOrEqual", [1, 1, 0, 0]),
            ("Greater", [0, 0, 1, 0]),
            ("GreaterOrEqual", [0, 1, 1, 0]),
        ];
        for (op, want) in wants {
            let floats = Value::new(&[4], &[1f32, 2.0, 3.0, f32::NAN]);
            assert_eq!(run(op, floats, Value::new(&[], &[2f32])).unwrap(), want, "{op}");
            let halves = Value::new(&[4], &[1.0, 2.0, 3.0, f32::NAN].map(f16::from_f32));
            assert_eq!(run(op, halves, Value::new(&[1], &[f16::from_f32(2.0)])).unwrap(), want, "{op}");
            let integers = Value::new(&[3, 1], &[1i64, 2, 3]);
            assert_eq!(run(op, integers, Value::new(&[1, 1], &[2i64])).unwrap(), want[..3], "{op}");
        }
    }

    #[test]
    fn logical_operators_take_bools_only() {
        let bools = |values: &[u8]| Value::new(&[values.len()], values).into_bool();
        for (op, want) in [("And", [0, 0, 0, 1]), ("Or", [0, 1, 1, 1]), ("Xor", [0, 1, 1, 0]), ("Equal", [1, 0, 0, 1])]
        {
            assert_eq!(run(op, bools(&[0, 0, 1, 1]), bools(&[0, 1, 0, 1])).unwrap(), want, "{op}");
        }
        let error = run("And", Value::new(&[1], &[1u8]), Value::new(&[1], &[1u8])).unwrap_err();
        assert!(error.to_string().contains("u8"), "{error}");
    }
}
