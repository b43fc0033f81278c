//! Operators that ask each element something.

use kernels::ops::predicate::{Predicate as Driver, PredicateOp};
use kernels::tensor::{DType, elements};

use super::{Decline, Lower, Op, OpRow, Work, numeric};
use crate::plan::{Bind, BindError};

const IS_NAN: OpRow = OpRow {
    domain: "",
    name: "IsNaN",
    versions: 9..=28,
    inputs: 1..=1,
    outputs: 1..=1,
    attrs: &[],
    work: Work::Light,
    lower: |cx| Ok(Box::new(Predicate { op: PredicateOp::IsNan, dtype: cx.float_input(0)? })),
};

pub const ROWS: &[OpRow] = &[
    OpRow { name: "IsInf", versions: 10..=28, attrs: &["detect_negative", "detect_positive"], lower: is_inf, ..IS_NAN },
    IS_NAN,
    OpRow {
        name: "Not",
        versions: 1..=28,
        lower: |cx| Ok(Box::new(Predicate { op: PredicateOp::Not, dtype: cx.dtype_in(0, &[DType::Bool])? })),
        ..IS_NAN
    },
];

struct Predicate {
    op: PredicateOp,
    dtype: DType,
}

fn is_inf(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let (negative, positive) = (cx.attr_bool("detect_negative", true)?, cx.attr_bool("detect_positive", true)?);
    Ok(Box::new(Predicate { op: PredicateOp::IsInf { negative, positive }, dtype: cx.float_input(0)? }))
}

impl Op for Predicate {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let dims = b.dims(0)?;
        let x = numeric::input(b, 0, self.dtype)?;
        let y = b.output(0, DType::Bool, &dims)?;
        b.step(Driver::new(self.op, elements(&dims)), &[x], &[y]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use half::f16;
    use kernels::tensor::DType;

    use crate::ir::{Attr, Dim};
    use crate::testing::{Model, Value};

    fn run(op: &str, attrs: Vec<(&str, Attr<'static>)>, x: Value) -> Vec<u8> {
        let mut model = Model::new();
        model.input_of("x", x.dtype, x.dims.iter().map(|&dim| Dim::Known(dim)).collect());
        model.typed("y", DType::Bool, vec![]).node(op, &["x"], &["y"], attrs).output("y");
        model.run(&[x]).unwrap()[0].values::<u8>().to_vec()
    }

    #[test]
    fn answers() {
        let floats = [1.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
        for x in [Value::new(&[2, 2], &floats), Value::new(&[4], &floats.map(f16::from_f32))] {
            assert_eq!(run("IsNaN", vec![], x.clone()), [0, 1, 0, 0]);
            assert_eq!(run("IsInf", vec![], x.clone()), [0, 0, 1, 1]);
            assert_eq!(run("IsInf", vec![("detect_negative", Attr::Int(0))], x.clone()), [0, 0, 1, 0]);
            assert_eq!(run("IsInf", vec![("detect_positive", Attr::Int(0))], x), [0, 0, 0, 1]);
        }
        assert_eq!(run("Not", vec![], Value::new(&[3], &[0u8, 1, 0]).into_bool()), [1, 0, 1]);
    }
}
