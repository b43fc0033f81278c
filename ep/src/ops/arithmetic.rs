//! Operators on two numbers of one type.

use kernels::ops::arithmetic::{Arithmetic as Driver, ArithmeticOp};
use kernels::tensor::DType;

use super::numeric::{self, broadcast, computed, shared_dtype};
use super::{Code, Decline, Lower, Op, OpRow, Work};
use crate::plan::{Bind, BindError};

/// Broadcasting has its present meaning since version 7.
const fn row(name: &'static str, lower: fn(&Lower<'_, '_>) -> Result<Box<dyn Op>, Decline>) -> OpRow {
    OpRow { domain: "", name, versions: 7..=28, inputs: 2..=2, outputs: 1..=1, attrs: &[], work: Work::Light, lower }
}

pub const ROWS: &[OpRow] = &[
    row("Add", |cx| lower(cx, ArithmeticOp::Add)),
    row("Sub", |cx| lower(cx, ArithmeticOp::Sub)),
    row("Mul", |cx| lower(cx, ArithmeticOp::Mul)),
    row("Div", |cx| lower(cx, ArithmeticOp::Div)),
    OpRow { attrs: &["fmod"], ..row("Mod", modulo) },
    row("PRelu", |cx| lower(cx, ArithmeticOp::PRelu)),
];

struct Arithmetic {
    op: ArithmeticOp,
    dtype: DType,
}

fn lower(cx: &Lower<'_, '_>, op: ArithmeticOp) -> Result<Box<dyn Op>, Decline> {
    let dtype = shared_dtype(cx, 2, Driver::supports)?;
    Ok(Box::new(Arithmetic { op, dtype }))
}

fn modulo(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    if cx.attr_bool("fmod", false)? {
        return lower(cx, ArithmeticOp::Remainder);
    }
    if cx.dtype(0)?.is_float() && cx.version() < 28 {
        return Err(Decline::new(Code::Attribute, "floats need 'fmod' to be 1 before version 28"));
    }
    lower(cx, ArithmeticOp::Modulo)
}

impl Op for Arithmetic {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let (a_dims, b_dims) = (b.dims(0)?, b.dims(1)?);
        let dims = broadcast(&[&a_dims, &b_dims])?;
        if self.op == ArithmeticOp::PRelu && dims != a_dims {
            let (slope, x) = (b_dims.as_slice(), a_dims.as_slice());
            return Err(BindError::new(format!("a slope of shape {slope:?} does not fit an input of shape {x:?}")));
        }
        let inputs = [numeric::input(b, 0, self.dtype)?, numeric::input(b, 1, self.dtype)?];
        let y = numeric::output(b, self.dtype, &dims)?;
        b.step(Driver::new(self.op, computed(self.dtype), &a_dims, &b_dims), &inputs, &[y]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use half::f16;
    use kernels::tensor::Element;

    use crate::ir::Attr;
    use crate::testing::{Model, Value};

    fn run<T: Element>(
        op: &str,
        attrs: Vec<(&str, Attr<'static>)>,
        a: &Value,
        b: &Value,
    ) -> Result<Value, crate::Error> {
        let mut model = Model::new();
        model.input::<T>("a", &a.dims).input::<T>("b", &b.dims).node(op, &["a", "b"], &["y"], attrs).output("y");
        Ok(model.run(&[a.clone(), b.clone()])?[0].clone())
    }

    #[test]
    fn floats_broadcast_and_halves_round_once() {
        let (a, b) = (Value::new(&[2, 1], &[6f32, -3.0]), Value::new(&[3], &[2f32, 4.0, 0.5]));
        let check = |op, want: [f32; 6]| {
            assert_eq!(run::<f32>(op, vec![], &a, &b).unwrap(), Value::new(&[2, 3], &want), "{op}");
            let halves = |value: &Value| {
                let values: Vec<f16> = value.values::<f32>().iter().map(|&x| f16::from_f32(x)).collect();
                Value::new(&value.dims, &values)
            };
            let want = halves(&Value::new(&[2, 3], &want));
            assert_eq!(run::<f16>(op, vec![], &halves(&a), &halves(&b)).unwrap(), want, "{op}");
        };
        check("Add", [8.0, 10.0, 6.5, -1.0, 1.0, -2.5]);
        check("Sub", [4.0, 2.0, 5.5, -5.0, -7.0, -3.5]);
        check("Mul", [12.0, 24.0, 3.0, -6.0, -12.0, -1.5]);
        check("Div", [3.0, 1.5, 12.0, -1.5, -0.75, -6.0]);
    }

    #[test]
    fn remainders() {
        let (a, b) = (Value::new(&[4], &[7i64, -7, 7, -7]), Value::new(&[4], &[3i64, 3, -3, -3]));
        let fmod = |on| vec![("fmod", Attr::Int(on))];
        assert_eq!(run::<i64>("Mod", fmod(0), &a, &b).unwrap(), Value::new(&[4], &[1i64, 2, -2, -1]));
        assert_eq!(run::<i64>("Mod", fmod(1), &a, &b).unwrap(), Value::new(&[4], &[1i64, -1, 1, -1]));
        let (a, b) = (Value::new(&[2], &[-4.5f32, 5.5]), Value::new(&[], &[2f32]));
        assert_eq!(run::<f32>("Mod", fmod(1), &a, &b).unwrap(), Value::new(&[2], &[-0.5f32, 1.5]));
        assert!(run::<f32>("Mod", vec![], &a, &b).unwrap_err().to_string().contains("'fmod'"));
        let mut model = Model::new();
        model.version(28).input::<f32>("a", &[2]).input::<f32>("b", &[]);
        model.node("Mod", &["a", "b"], &["y"], vec![]).output("y");
        assert_eq!(model.run(&[a, b]).unwrap(), [Value::new(&[2], &[1.5f32, 1.5])]);
    }

    #[test]
    fn slopes_broadcast_one_way() {
        let x = Value::new(&[2, 2], &[-1f32, 2.0, -3.0, 4.0]);
        let slope = Value::new(&[2], &[0.5f32, 0.25]);
        assert_eq!(run::<f32>("PRelu", vec![], &x, &slope).unwrap(), Value::new(&[2, 2], &[-0.5f32, 2.0, -1.5, 4.0]));
        assert!(run::<f32>("PRelu", vec![], &slope, &x).unwrap_err().to_string().contains("slope"));
    }

    #[test]
    fn faults_are_errors() {
        let (a, b) = (Value::new(&[2], &[1i32, 2]), Value::new(&[2], &[1i32, 0]));
        assert!(run::<i32>("Div", vec![], &a, &b).unwrap_err().to_string().contains("division by zero"));
        let c = Value::new(&[3], &[1i32, 2, 3]);
        assert!(run::<i32>("Add", vec![], &a, &c).unwrap_err().to_string().contains("do not broadcast"));
        let wide = Value::new(&[1], &[1f64]);
        assert!(run::<f64>("Add", vec![], &wide, &wide).unwrap_err().to_string().contains("f64"));
    }
}
