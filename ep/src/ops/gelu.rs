//! The Gelu family of the standard domain and of com.microsoft.

use kernels::ops::arithmetic::{Arithmetic, ArithmeticOp};
use kernels::ops::unary::{Unary, UnaryOp};
use kernels::tensor::{DType, elements};

use super::{Code, Decline, Lower, MICROSOFT, Op, OpRow, Work};
use crate::plan::{Bind, BindError};

const GELU: OpRow = OpRow {
    domain: "",
    name: "Gelu",
    versions: 20..=28,
    inputs: 1..=1,
    outputs: 1..=1,
    attrs: &["approximate"],
    work: Work::Light,
    lower: gelu,
};

const CONTRIB: OpRow = OpRow { domain: MICROSOFT, versions: 1..=1, attrs: &[], ..GELU };

pub const ROWS: &[OpRow] = &[
    GELU,
    OpRow { name: "BiasGelu", inputs: 2..=2, lower: |cx| lower(cx, UnaryOp::Gelu), ..CONTRIB },
    OpRow { name: "FastGelu", inputs: 1..=2, lower: |cx| lower(cx, UnaryOp::GeluTanh), ..CONTRIB },
    OpRow { lower: |cx| lower(cx, UnaryOp::Gelu), ..CONTRIB },
    OpRow { name: "QuickGelu", attrs: &["alpha"], lower: quick_gelu, ..CONTRIB },
];

struct Gelu {
    op: UnaryOp,
    dtype: DType,
}

fn gelu(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    match cx.attr_str("approximate", "none")? {
        "none" => lower(cx, UnaryOp::Gelu),
        "tanh" => lower(cx, UnaryOp::GeluTanh),
        other => Err(Decline::new(Code::Attribute, format!("'approximate' is '{other}', not 'none' or 'tanh'"))),
    }
}

fn quick_gelu(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    lower(cx, UnaryOp::Swish { alpha: cx.attr_float("alpha", 1.702)? })
}

fn lower(cx: &Lower<'_, '_>, op: UnaryOp) -> Result<Box<dyn Op>, Decline> {
    let dtype = cx.float_input(0)?;
    if cx.has_input(1) {
        cx.dtype_in(1, &[dtype])?;
    }
    Ok(Box::new(Gelu { op, dtype }))
}

impl Op for Gelu {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let dims = b.dims(0)?;
        let mut x = b.input_f32(0)?;
        if b.has_input(1) {
            let bias_dims = b.dims(1)?;
            if bias_dims.len() != 1 || bias_dims.last() != dims.last() {
                let (bias, x) = (bias_dims.as_slice(), dims.as_slice());
                return Err(BindError::new(format!("a bias of shape {bias:?} does not fit an input of shape {x:?}")));
            }
            let bias = b.input_f32(1)?;
            let biased = b.temp(DType::F32, elements(&dims))?;
            b.step(Arithmetic::new(ArithmeticOp::Add, DType::F32, &dims, &bias_dims), &[x, bias], &[biased]);
            x = biased;
        }
        let y = b.output_f32(0, self.dtype, &dims)?;
        b.step(Unary::new(self.op, elements(&dims)), &[x], &[y]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::Error;
    use crate::ir::Attr;
    use crate::ops::MICROSOFT;
    use crate::testing::{Model, Value};

    const X: [f32; 6] = [-3.0, -0.5, 0.0, 0.25, 1.0, 4.0];
    const BIAS: [f32; 3] = [0.5, -1.0, 0.125];

    fn erf_gelu(x: f64) -> f64 {
        x / 2.0 * (1.0 + kernels::reference::erf::erf(x * std::f64::consts::FRAC_1_SQRT_2))
    }

    fn tanh_gelu(x: f64) -> f64 {
        x / 2.0 * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3))).tanh())
    }

    fn run(domain: &'static str, op: &str, attrs: Vec<(&str, Attr<'static>)>, bias: &[f32]) -> Result<Value, Error> {
        let mut model = Model::new();
        model.version(if domain.is_empty() { 20 } else { 1 }).domain(domain);
        model.input::<f32>("x", &[2, 3]).input::<f32>("bias", &[bias.len()]);
        let inputs = if bias.is_empty() { vec!["x"] } else { vec!["x", "bias"] };
        model.node(op, &inputs, &["y"], attrs).output("y");
        Ok(model.run(&[Value::new(&[2, 3], &X), Value::new(&[bias.len()], bias)])?.remove(0))
    }

    fn check(got: Result<Value, Error>, f: impl Fn(f64) -> f64, bias: [f32; 3]) {
        let got = got.unwrap();
        for (i, (&y, x)) in got.values::<f32>().iter().zip(X).enumerate() {
            let x = f64::from(x + bias[i % 3]);
            assert!((f64::from(y) - f(x)).abs() <= 4.0 * f64::from(f32::EPSILON) * x.abs(), "{x}: {y}, want {}", f(x));
        }
    }

    #[test]
    fn each_form() {
        let text = |value: &'static str| vec![("approximate", Attr::Str(value.into()))];
        check(run("", "Gelu", vec![], &[]), erf_gelu, [0.0; 3]);
        check(run("", "Gelu", text("none"), &[]), erf_gelu, [0.0; 3]);
        check(run("", "Gelu", text("tanh"), &[]), tanh_gelu, [0.0; 3]);
        check(run(MICROSOFT, "Gelu", vec![], &[]), erf_gelu, [0.0; 3]);
        check(run(MICROSOFT, "BiasGelu", vec![], &BIAS), erf_gelu, BIAS);
        check(run(MICROSOFT, "FastGelu", vec![], &[]), tanh_gelu, [0.0; 3]);
        check(run(MICROSOFT, "FastGelu", vec![], &BIAS), tanh_gelu, BIAS);
        let swish = |alpha: f64| move |x: f64| x / (1.0 + (-alpha * x).exp());
        check(run(MICROSOFT, "QuickGelu", vec![], &[]), swish(1.702f32.into()), [0.0; 3]);
        check(run(MICROSOFT, "QuickGelu", vec![("alpha", Attr::Float(0.5))], &[]), swish(0.5), [0.0; 3]);
    }

    #[test]
    fn what_is_not_known_is_declined() {
        let error = run("", "Gelu", vec![("approximate", Attr::Str("fast".into()))], &[]).unwrap_err();
        assert!(error.to_string().contains("'fast'"), "{error}");
        let error = run(MICROSOFT, "BiasGelu", vec![], &[1.0, 2.0]).unwrap_err();
        assert!(error.to_string().contains("bias"), "{error}");
    }
}
