//! Conversions between element types.

use kernels::ops::cast::Cast as Driver;
use kernels::ops::convert::{F16ToF32, F32ToF16};
use kernels::tensor::{DType, elements};

use super::{Code, Decline, Lower, Op, OpRow, Work};
use crate::plan::{Bind, BindError};

/// `saturate` and `round_mode` concern 8-bit floats only, which are no types of this provider.
const CAST: OpRow = OpRow {
    domain: "",
    name: "Cast",
    versions: 6..=28,
    inputs: 1..=1,
    outputs: 1..=1,
    attrs: &["to", "saturate", "round_mode"],
    work: Work::Light,
    lower: cast,
};

pub const ROWS: &[OpRow] = &[
    CAST,
    OpRow {
        name: "CastLike",
        versions: 15..=28,
        inputs: 2..=2,
        attrs: &["saturate", "round_mode"],
        lower: cast_like,
        ..CAST
    },
];

struct Cast {
    from: DType,
    to: DType,
}

fn cast(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    // The attribute `to` also decides the type that the graph gives the output.
    let to = cx.output_dtype(0).ok_or_else(|| Decline::new(Code::DType, "the type to cast to is not supported"))?;
    lower(cx, to)
}

fn cast_like(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    lower(cx, cx.dtype(1)?)
}

fn lower(cx: &Lower<'_, '_>, to: DType) -> Result<Box<dyn Op>, Decline> {
    let from = cx.dtype(0)?;
    if from == to || (Driver::supports(from) && Driver::supports(to)) {
        return Ok(Box::new(Cast { from, to }));
    }
    Err(Decline::new(Code::DType, format!("a cast from {from} to {to} is not supported")))
}

impl Op for Cast {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let dims = b.dims(0)?;
        if self.from == self.to {
            return b.alias(0, 0, &dims);
        }
        let (x, y) = (b.input(0)?, b.output(0, self.to, &dims)?);
        let len = elements(&dims);
        match (self.from, self.to) {
            (DType::F16, DType::F32) => b.step(F16ToF32::new(len), &[x], &[y]),
            (DType::F32, DType::F16) => b.step(F32ToF16::new(len), &[x], &[y]),
            _ => b.step(Driver::new(self.from, self.to, len), &[x], &[y]),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};
    use kernels::tensor::{DType, Element};

    use crate::Error;
    use crate::ir::Attr;
    use crate::testing::{Model, Value};

    fn cast<X: Element>(x: &[X], to: DType) -> Result<Value, Error> {
        let mut model = Model::new();
        model.input::<X>("x", &[x.len()]).typed("y", to, vec![]);
        model.node("Cast", &["x"], &["y"], vec![("to", Attr::Int(1))]).output("y");
        Ok(model.run(&[Value::new(&[x.len()], x)])?.remove(0))
    }

    #[test]
    fn conversions() {
        let x = [1.75f32, -2.5, 0.0];
        assert_eq!(cast(&x, DType::I64).unwrap(), Value::new(&[3], &[1i64, -2, 0]));
        assert_eq!(cast(&x, DType::F16).unwrap(), Value::new(&[3], &x.map(f16::from_f32)));
        assert_eq!(cast(&x, DType::Bool).unwrap(), Value::new(&[3], &[1u8, 1, 0]).into_bool());
        assert_eq!(cast(&x, DType::F32).unwrap(), Value::new(&[3], &x));
        assert_eq!(cast(&x.map(f16::from_f32), DType::F32).unwrap(), Value::new(&[3], &x));
        assert_eq!(cast(&[1i64, -1], DType::F64).unwrap(), Value::new(&[2], &[1f64, -1.0]));
    }

    #[test]
    fn bf16_is_declined() {
        let error = cast(&[1f32], DType::BF16).unwrap_err();
        assert!(error.to_string().contains("bf16"), "{error}");
        assert!(cast(&[bf16::ONE], DType::F32).is_err());
    }

    #[test]
    fn like_another_tensor() {
        let mut model = Model::new();
        model.input::<f32>("x", &[2]).input::<i32>("like", &[0]).typed("y", DType::I32, vec![]);
        model.node("CastLike", &["x", "like"], &["y"], vec![]).output("y");
        let y = model.run(&[Value::new(&[2], &[2.9f32, -2.9]), Value::new::<i32>(&[0], &[])]).unwrap();
        assert_eq!(y, [Value::new(&[2], &[2i32, -2])]);
    }
}
