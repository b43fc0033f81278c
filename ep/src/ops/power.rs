use kernels::ops::power::Power as Driver;
use kernels::tensor::DType;

use super::numeric::{self, broadcast, computed};
use super::{Code, Decline, Lower, Op, OpRow, Work};
use crate::plan::{Bind, BindError};

pub const ROWS: &[OpRow] = &[OpRow {
    domain: "",
    name: "Pow",
    versions: 7..=28,
    inputs: 2..=2,
    outputs: 1..=1,
    attrs: &[],
    work: Work::Light,
    lower,
}];

struct Pow {
    base: DType,
    exponent: DType,
}

fn lower(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    for index in 0..2 {
        let dtype = cx.dtype(index)?;
        if !Driver::supports(computed(dtype)) {
            return Err(Decline::new(Code::DType, format!("input {index} of type {dtype} is not supported")));
        }
    }
    Ok(Box::new(Pow { base: cx.dtype(0)?, exponent: cx.dtype(1)? }))
}

impl Op for Pow {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let (base, exponent) = (b.dims(0)?, b.dims(1)?);
        let dims = broadcast(&[&base, &exponent])?;
        let inputs = [numeric::input(b, 0, self.base)?, numeric::input(b, 1, self.exponent)?];
        let y = numeric::output(b, self.base, &dims)?;
        b.step(Driver::new(computed(self.base), computed(self.exponent), &base, &exponent), &inputs, &[y]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use half::f16;
    use kernels::tensor::Element;

    use crate::testing::{Model, Value};

    fn run<A: Element, B: Element>(base: Value, exponent: Value) -> Value {
        let mut model = Model::new();
        model.input::<A>("x", &base.dims).input::<B>("e", &exponent.dims);
        model.node("Pow", &["x", "e"], &["y"], vec![]).output("y");
        model.run(&[base, exponent]).unwrap()[0].clone()
    }

    #[test]
    fn types_may_differ() {
        let floats = Value::new(&[3], &[1f32, -2.0, 3.0]);
        assert_eq!(run::<f32, i64>(floats, Value::new(&[], &[3i64])), Value::new(&[3], &[1f32, -8.0, 27.0]));
        let halves = Value::new(&[2], &[1.5, 4.0].map(f16::from_f32));
        let want = Value::new(&[2, 2], &[2.25, 16.0, 1.0, 1.0].map(f16::from_f32));
        assert_eq!(run::<f16, f32>(halves, Value::new(&[2, 1], &[2f32, 0.0])), want);
        let integers = Value::new(&[2], &[2i64, -3]);
        assert_eq!(run::<i64, f32>(integers, Value::new(&[1], &[3f32])), Value::new(&[2], &[8i64, -27]));
    }
}
