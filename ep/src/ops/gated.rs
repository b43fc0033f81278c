//! Operators that multiply by an activation of a gate.

use kernels::ops::arithmetic::{Arithmetic, ArithmeticOp};
use kernels::ops::norm::{Norm, NormKind};
use kernels::ops::unary::{Unary, UnaryOp};
use kernels::tensor::{DType, elements};

use super::{Code, Decline, Lower, MICROSOFT, Op, OpRow, Work};
use crate::plan::{Bind, BindError, Buf};

pub const ROWS: &[OpRow] = &[
    OpRow {
        domain: "",
        name: "SwiGLU",
        versions: 28..=28,
        inputs: 2..=2,
        outputs: 1..=1,
        attrs: &["alpha"],
        work: Work::Light,
        lower: swiglu,
    },
    OpRow {
        domain: MICROSOFT,
        name: "GatedRMSNorm",
        versions: 1..=1,
        inputs: 3..=3,
        outputs: 1..=1,
        attrs: &["activation", "epsilon"],
        work: Work::Heavy,
        lower: gated_norm,
    },
];

/// `y = f(gate) * x`, the output.
fn multiply(b: &mut Bind<'_>, dtype: DType, gate: usize, f: UnaryOp, x: Buf) -> Result<(), BindError> {
    let dims = b.dims(gate)?;
    let (gate, active) = (b.input_f32(gate)?, b.temp(DType::F32, elements(&dims))?);
    b.step(Unary::new(f, elements(&dims)), &[gate], &[active]);
    let y = b.output_f32(0, dtype, &dims)?;
    b.step(Arithmetic::new(ArithmeticOp::Mul, DType::F32, &dims, &dims), &[active, x], &[y]);
    Ok(())
}

fn expect_same_shape(b: &Bind<'_>, left: usize, right: usize) -> Result<(), BindError> {
    let (left, right) = (b.dims(left)?, b.dims(right)?);
    match left == right {
        true => Ok(()),
        false => Err(BindError::new(format!("shapes {left:?} and {right:?} differ"))),
    }
}

/// `Y = swish(A) * B`
struct SwiGlu {
    dtype: DType,
    alpha: f32,
}

fn swiglu(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let dtype = cx.float_input(0)?;
    cx.dtype_in(1, &[dtype])?;
    Ok(Box::new(SwiGlu { dtype, alpha: cx.attr_float("alpha", 1.0)? }))
}

impl Op for SwiGlu {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        expect_same_shape(b, 0, 1)?;
        let x = b.input_f32(1)?;
        multiply(b, self.dtype, 0, UnaryOp::Swish { alpha: self.alpha }, x)
    }
}

/// `Y = rms_norm(X) * scale * f(gate)`: X in rows as long as the scale; inputs X, scale, gate.
struct GatedRmsNorm {
    dtype: DType,
    epsilon: f32,
    activation: UnaryOp,
}

fn gated_norm(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let dtype = cx.float_input(0)?;
    for index in [1, 2] {
        cx.dtype_in(index, &[dtype])?;
    }
    let activation = match cx.attr_str("activation", "silu")? {
        "silu" | "swish" => UnaryOp::Swish { alpha: 1.0 },
        "sigmoid" => UnaryOp::Sigmoid,
        other => return Err(Decline::new(Code::Attribute, format!("activation '{other}' is not known"))),
    };
    Ok(Box::new(GatedRmsNorm { dtype, epsilon: cx.attr_float("epsilon", 1e-5)?, activation }))
}

impl Op for GatedRmsNorm {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        expect_same_shape(b, 0, 2)?;
        let (dims, scale) = (b.dims(0)?, b.dims(1)?);
        let (width, len) = (dims.last().copied().unwrap_or(1), elements(&dims));
        let &[cols] = scale.as_slice() else {
            return Err(BindError::new(format!("a scale of shape {scale:?} is not a vector")));
        };
        if cols == 0 || !width.is_multiple_of(cols) {
            return Err(BindError::new(format!("rows of {width} elements are no multiple of a scale of {cols}")));
        }
        let (x, scale, normal) = (b.input_f32(0)?, b.input_f32(1)?, b.temp(DType::F32, len)?);
        b.step(Norm::new(NormKind::Rms, len / cols, cols, self.epsilon), &[x, scale], &[normal]);
        multiply(b, self.dtype, 2, self.activation, normal)
    }
}

#[cfg(test)]
mod tests {
    use crate::Error;
    use crate::ir::Attr;
    use crate::ops::attention_testing::{run, value};
    use crate::testing::Value;

    fn silu(x: f64) -> f64 {
        x / (1.0 + (-x).exp())
    }

    fn assert_near(y: &Value, expected: impl Fn(usize) -> f64) {
        for (index, y) in y.values::<f32>().iter().enumerate() {
            assert!((f64::from(*y) - expected(index)).abs() < 1e-5, "element {index} is {y}");
        }
    }

    fn at(value: &Value, i: usize) -> f64 {
        value.values::<f32>()[i].into()
    }

    #[test]
    fn swiglu() {
        let (a, b) = (value(&[2, 5], 1), value(&[2, 5], 2));
        let alpha = vec![("alpha", Attr::Float(1.5))];
        let y = run(("", "SwiGLU", 28), &[Some(a.clone()), Some(b.clone())], &[], alpha).unwrap();
        assert_near(&y, |i| at(&a, i) / (1.0 + (-1.5 * at(&a, i)).exp()) * at(&b, i));
        let error = run(("", "SwiGLU", 28), &[Some(a), Some(value(&[5], 2))], &[], vec![]).unwrap_err();
        assert!(error.to_string().contains("differ"));
    }

    fn norm(scale: usize, attrs: Vec<(&'static str, Attr<'static>)>) -> Result<Value, Error> {
        let inputs = [value(&[2, 6], 1), value(&[scale], 2), value(&[2, 6], 3)].map(Some);
        run(("com.microsoft", "GatedRMSNorm", 1), &inputs, &[], attrs)
    }

    #[test]
    fn gated_norm() {
        let (x, scale, gate) = (value(&[2, 6], 1), value(&[3], 2), value(&[2, 6], 3));
        let expected = |i: usize, f: fn(f64) -> f64| {
            let square = (0..3).map(|j| at(&x, i / 3 * 3 + j).powi(2)).sum::<f64>() / 3.0;
            at(&x, i) / (square + 0.01).sqrt() * at(&scale, i % 3) * f(at(&gate, i))
        };
        let epsilon = || ("epsilon", Attr::Float(0.01));
        assert_near(&norm(3, vec![epsilon()]).unwrap(), |i| expected(i, silu));
        let sigmoid = vec![epsilon(), ("activation", Attr::Str("sigmoid".into()))];
        assert_near(&norm(3, sigmoid).unwrap(), |i| expected(i, |x| 1.0 / (1.0 + (-x).exp())));
        assert!(norm(4, vec![]).unwrap_err().to_string().contains("no multiple"));
    }
}
