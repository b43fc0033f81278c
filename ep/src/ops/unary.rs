//! Functions of one number.

use kernels::ops::integer_unary::{IntegerUnary, IntegerUnaryOp};
use kernels::ops::unary::{Unary as Driver, UnaryOp};
use kernels::tensor::{DType, elements};

use super::{Decline, Lower, Op, OpRow, Work};
use crate::plan::{Bind, BindError};

/// An operator whose meaning is known since version `since`.
const fn row(
    name: &'static str,
    since: i32,
    attrs: &'static [&'static str],
    lower: fn(&Lower<'_, '_>) -> Result<Box<dyn Op>, Decline>,
) -> OpRow {
    OpRow { domain: "", name, versions: since..=28, inputs: 1..=1, outputs: 1..=1, attrs, work: Work::Light, lower }
}

pub const ROWS: &[OpRow] = &[
    row("Abs", 6, &[], |cx| number(cx, UnaryOp::Abs, IntegerUnaryOp::Abs)),
    row("Acos", 7, &[], |cx| float(cx, UnaryOp::Acos)),
    row("Acosh", 9, &[], |cx| float(cx, UnaryOp::Acosh)),
    row("Asin", 7, &[], |cx| float(cx, UnaryOp::Asin)),
    row("Asinh", 9, &[], |cx| float(cx, UnaryOp::Asinh)),
    row("Atan", 7, &[], |cx| float(cx, UnaryOp::Atan)),
    row("Atanh", 9, &[], |cx| float(cx, UnaryOp::Atanh)),
    row("Ceil", 6, &[], |cx| float(cx, UnaryOp::Ceil)),
    row("Celu", 12, &["alpha"], |cx| float(cx, UnaryOp::Celu { alpha: cx.attr_float("alpha", 1.0)? })),
    row("Cos", 7, &[], |cx| float(cx, UnaryOp::Cos)),
    row("Cosh", 9, &[], |cx| float(cx, UnaryOp::Cosh)),
    row("Elu", 6, &["alpha"], |cx| float(cx, UnaryOp::Elu { alpha: cx.attr_float("alpha", 1.0)? })),
    row("Erf", 9, &[], |cx| float(cx, UnaryOp::Erf)),
    row("Exp", 6, &[], |cx| float(cx, UnaryOp::Exp)),
    row("Floor", 6, &[], |cx| float(cx, UnaryOp::Floor)),
    row("HardSigmoid", 6, &["alpha", "beta"], |cx| {
        float(cx, UnaryOp::HardSigmoid { alpha: cx.attr_float("alpha", 0.2)?, beta: cx.attr_float("beta", 0.5)? })
    }),
    row("HardSwish", 14, &[], |cx| float(cx, UnaryOp::HardSwish)),
    row("LeakyRelu", 6, &["alpha"], |cx| float(cx, UnaryOp::LeakyRelu { alpha: cx.attr_float("alpha", 0.01)? })),
    row("Log", 6, &[], |cx| float(cx, UnaryOp::Log)),
    row("Mish", 18, &[], |cx| float(cx, UnaryOp::Mish)),
    row("Neg", 6, &[], |cx| number(cx, UnaryOp::Neg, IntegerUnaryOp::Neg)),
    row("Reciprocal", 6, &[], |cx| float(cx, UnaryOp::Reciprocal)),
    row("Relu", 6, &[], |cx| number(cx, UnaryOp::Relu, IntegerUnaryOp::Relu)),
    row("Round", 11, &[], |cx| float(cx, UnaryOp::Round)),
    row("Selu", 6, &["alpha", "gamma"], |cx| {
        float(
            cx,
            UnaryOp::Selu { alpha: cx.attr_float("alpha", 1.673_263_2)?, gamma: cx.attr_float("gamma", 1.050_701)? },
        )
    }),
    row("Sigmoid", 6, &[], |cx| float(cx, UnaryOp::Sigmoid)),
    row("Sign", 9, &[], |cx| number(cx, UnaryOp::Sign, IntegerUnaryOp::Sign)),
    row("Sin", 7, &[], |cx| float(cx, UnaryOp::Sin)),
    row("Sinh", 9, &[], |cx| float(cx, UnaryOp::Sinh)),
    row("Softplus", 1, &[], |cx| float(cx, UnaryOp::Softplus)),
    row("Softsign", 1, &[], |cx| float(cx, UnaryOp::Softsign)),
    row("Sqrt", 6, &[], |cx| float(cx, UnaryOp::Sqrt)),
    row("Swish", 24, &["alpha"], |cx| float(cx, UnaryOp::Swish { alpha: cx.attr_float("alpha", 1.0)? })),
    row("Tan", 7, &[], |cx| float(cx, UnaryOp::Tan)),
    row("Tanh", 6, &[], |cx| float(cx, UnaryOp::Tanh)),
    row("ThresholdedRelu", 10, &["alpha"], |cx| {
        float(cx, UnaryOp::ThresholdedRelu { alpha: cx.attr_float("alpha", 1.0)? })
    }),
];

struct Float {
    op: UnaryOp,
    dtype: DType,
}

struct Integer {
    op: IntegerUnaryOp,
    dtype: DType,
}

/// A function of f32 and f16.
pub(super) fn float(cx: &Lower<'_, '_>, op: UnaryOp) -> Result<Box<dyn Op>, Decline> {
    Ok(Box::new(Float { op, dtype: cx.float_input(0)? }))
}

/// A function of floats and integers.
fn number(cx: &Lower<'_, '_>, op: UnaryOp, integer: IntegerUnaryOp) -> Result<Box<dyn Op>, Decline> {
    match cx.dtype(0)? {
        dtype if IntegerUnary::supports(dtype) => Ok(Box::new(Integer { op: integer, dtype })),
        _ => float(cx, op),
    }
}

impl Op for Float {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let dims = b.dims(0)?;
        let (x, y) = (b.input_f32(0)?, b.output_f32(0, self.dtype, &dims)?);
        b.step(Driver::new(self.op, elements(&dims)), &[x], &[y]);
        Ok(())
    }
}

impl Op for Integer {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let dims = b.dims(0)?;
        let (x, y) = (b.input(0)?, b.output(0, self.dtype, &dims)?);
        b.step(IntegerUnary::new(self.op, self.dtype, elements(&dims)), &[x], &[y]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use half::f16;
    use kernels::tensor::Element;

    use super::ROWS;
    use crate::ir::Attr;
    use crate::testing::{Model, Value};

    fn run<T: Element>(op: &str, attrs: Vec<(&str, Attr<'static>)>, x: &[T]) -> Vec<T> {
        let mut model = Model::new();
        model.version(24).input::<T>("x", &[x.len()]).node(op, &["x"], &["y"], attrs).output("y");
        model.run(&[Value::new(&[x.len()], x)]).unwrap()[0].values::<T>().to_vec()
    }

    /// Each operator's value at `x` by its definition, with default attributes.
    fn definition(op: &str, x: f64) -> f64 {
        let sigmoid = 1.0 / (1.0 + (-x).exp());
        match op {
            "Abs" => x.abs(),
            "Acos" => x.acos(),
            "Acosh" => x.acosh(),
            "Asin" => x.asin(),
            "Asinh" => x.asinh(),
            "Atan" => x.atan(),
            "Atanh" => x.atanh(),
            "Ceil" => x.ceil(),
            "Celu" | "Elu" => {
                if x < 0.0 {
                    x.exp() - 1.0
                } else {
                    x
                }
            }
            "Cos" => x.cos(),
            "Cosh" => x.cosh(),
            "Erf" => kernels::reference::erf::erf(x),
            "Exp" => x.exp(),
            "Floor" => x.floor(),
            "HardSigmoid" => (0.2 * x + 0.5).clamp(0.0, 1.0),
            "HardSwish" => x * (x / 6.0 + 0.5).clamp(0.0, 1.0),
            "LeakyRelu" => {
                if x < 0.0 {
                    0.01 * x
                } else {
                    x
                }
            }
            "Log" => x.ln(),
            "Mish" => x * x.exp().ln_1p().tanh(),
            "Neg" => -x,
            "Reciprocal" => 1.0 / x,
            "Relu" => x.max(0.0),
            "Round" => x.round_ties_even(),
            "Selu" => 1.0507009873554805 * if x < 0.0 { 1.6732632423543772 * (x.exp() - 1.0) } else { x },
            "Sigmoid" => sigmoid,
            "Sign" => x.signum(),
            "Sin" => x.sin(),
            "Sinh" => x.sinh(),
            "Softplus" => x.exp().ln_1p(),
            "Softsign" => x / (1.0 + x.abs()),
            "Sqrt" => x.sqrt(),
            "Swish" => x * sigmoid,
            "Tan" => x.tan(),
            "Tanh" => x.tanh(),
            "ThresholdedRelu" => {
                if x > 1.0 {
                    x
                } else {
                    0.0
                }
            }
            other => panic!("'{other}' has no definition here"),
        }
    }

    #[test]
    fn every_row_computes_its_operator() {
        let x = [-2.5f32, -1.5, -0.75, -0.3, 0.4, 0.5, 0.9, 1.25, 2.5, 7.0];
        for row in ROWS {
            let halves = run(row.name, vec![], &x.map(f16::from_f32));
            for ((&x, got), half) in x.iter().zip(run(row.name, vec![], &x)).zip(halves) {
                let want = definition(row.name, x.into());
                let close =
                    (f64::from(got) - want).abs() <= 4.0 * f64::from(f32::EPSILON) * want.abs().max(x.abs().into());
                assert!(close || (got.is_nan() && want.is_nan()), "{} of {x}: {got}, want {want}", row.name);
                // The half input may differ from `x`, so the half output need only be near.
                let near = (half.to_f64() - want).abs() <= 0.02 * want.abs().max(1.0);
                assert!(near || (half.is_nan() && want.is_nan()), "{} of {x}: {half}, want {want}", row.name);
            }
        }
    }

    #[test]
    fn attributes_count() {
        let attr = |name, value| (name, Attr::Float(value));
        assert_eq!(run("LeakyRelu", vec![attr("alpha", 0.5)], &[-2f32, 2.0]), [-1.0, 2.0]);
        assert_eq!(run("ThresholdedRelu", vec![attr("alpha", 3.0)], &[2f32, 4.0]), [0.0, 4.0]);
        let hard = run("HardSigmoid", vec![attr("alpha", 0.5), attr("beta", 0.25)], &[1f32, -1.0]);
        assert_eq!(hard, [0.75, 0.0]);
        let selu = run("Selu", vec![attr("gamma", 2.0), attr("alpha", 3.0)], &[1f32, -40.0]);
        assert_eq!(selu, [2.0, -6.0]);
        assert_eq!(run("Elu", vec![attr("alpha", 2.0)], &[-40f32]), [-2.0]);
        assert_eq!(run("Swish", vec![attr("alpha", 0.0)], &[3f32]), [1.5]);
    }

    #[test]
    fn integers() {
        assert_eq!(run("Neg", vec![], &[i64::MIN, 5]), [i64::MIN, -5]);
        assert_eq!(run("Abs", vec![], &[-7i32, 7]), [7, 7]);
        assert_eq!(run("Sign", vec![], &[0u8, 9]), [0, 1]);
        assert_eq!(run("Relu", vec![], &[-7i8, 7]), [0, 7]);
    }

    #[test]
    fn floats_only_elsewhere() {
        let mut model = Model::new();
        model.input::<i32>("x", &[1]).node("Sqrt", &["x"], &["y"], vec![]).output("y");
        assert!(model.run(&[Value::new(&[1], &[4i32])]).unwrap_err().to_string().contains("i32"));
    }
}
