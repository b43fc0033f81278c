//! Operators on any number of tensors.

use std::sync::Arc;

use kernels::mem::AlignedBuf;
use kernels::ops::arithmetic::{Arithmetic, ArithmeticOp};
use kernels::tensor::{DType, Dims, elements};

use super::numeric::{self, broadcast, computed, shared_dtype};
use super::{Decline, Lower, Op, OpRow, Work};
use crate::plan::{Bind, BindError};

/// Broadcasting came with version 8.
const fn row(name: &'static str, lower: fn(&Lower<'_, '_>) -> Result<Box<dyn Op>, Decline>) -> OpRow {
    let inputs = 1..=usize::MAX;
    OpRow { domain: "", name, versions: 8..=28, inputs, outputs: 1..=1, attrs: &[], work: Work::Light, lower }
}

pub const ROWS: &[OpRow] = &[
    row("Max", |cx| lower(cx, ArithmeticOp::Max, Arithmetic::supports)),
    row("Mean", |cx| lower(cx, ArithmeticOp::Div, DType::is_float)),
    row("Min", |cx| lower(cx, ArithmeticOp::Min, Arithmetic::supports)),
    row("Sum", |cx| lower(cx, ArithmeticOp::Add, DType::is_float)),
];

/// Inputs are folded from the left; `Div` stands for their mean.
struct Variadic {
    op: ArithmeticOp,
    dtype: DType,
    inputs: usize,
}

fn lower(cx: &Lower<'_, '_>, op: ArithmeticOp, supported: impl Fn(DType) -> bool) -> Result<Box<dyn Op>, Decline> {
    let inputs = cx.inputs();
    let dtype = shared_dtype(cx, inputs, |dtype| supported(dtype) && Arithmetic::supports(dtype))?;
    Ok(Box::new(Variadic { op, dtype, inputs }))
}

impl Op for Variadic {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let operands: Vec<Dims> = (0..self.inputs).map(|index| b.dims(index)).collect::<Result<_, _>>()?;
        if self.inputs == 1 {
            return b.alias(0, 0, &operands[0]);
        }
        let dims = broadcast(&operands.iter().map(Dims::as_slice).collect::<Vec<_>>())?;
        let dtype = computed(self.dtype);
        let mean = self.op == ArithmeticOp::Div;
        let fold = if mean { ArithmeticOp::Add } else { self.op };
        let mut result = numeric::input(b, 0, self.dtype)?;
        let mut so_far = operands[0].clone();
        for (index, operand) in operands.iter().enumerate().skip(1) {
            let next = numeric::input(b, index, self.dtype)?;
            let together = broadcast(&[&so_far, operand])?;
            let last = index + 1 == self.inputs && !mean;
            let y = if last { numeric::output(b, self.dtype, &dims)? } else { b.temp(dtype, elements(&together))? };
            b.step(Arithmetic::new(fold, dtype, &so_far, operand), &[result, next], &[y]);
            (result, so_far) = (y, together);
        }
        if mean {
            let count = b.constant(Arc::new(AlignedBuf::copy_of(&(self.inputs as f32).to_ne_bytes())));
            let y = numeric::output(b, self.dtype, &dims)?;
            b.step(Arithmetic::new(ArithmeticOp::Div, dtype, &dims, &[]), &[result, count], &[y]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use half::f16;
    use kernels::tensor::Element;

    use crate::testing::{Model, Value};

    fn run<T: Element>(op: &str, inputs: &[Value]) -> Value {
        let names = ["a", "b", "c"];
        let mut model = Model::new();
        for (name, value) in names.iter().zip(inputs) {
            model.input::<T>(name, &value.dims);
        }
        model.node(op, &names[..inputs.len()], &["y"], vec![]).output("y");
        model.run(inputs).unwrap()[0].clone()
    }

    #[test]
    fn three_inputs_broadcast() {
        let inputs =
            [Value::new(&[2, 1], &[1f32, 8.0]), Value::new(&[3], &[3f32, -4.0, 5.0]), Value::new(&[], &[2.5f32])];
        let check = |op, want: [f32; 6]| assert_eq!(run::<f32>(op, &inputs), Value::new(&[2, 3], &want), "{op}");
        check("Sum", [6.5, -0.5, 8.5, 13.5, 6.5, 15.5]);
        check("Max", [3.0, 2.5, 5.0, 8.0, 8.0, 8.0]);
        check("Min", [1.0, -4.0, 1.0, 2.5, -4.0, 2.5]);
        check("Mean", [6.5f32, -0.5, 8.5, 13.5, 6.5, 15.5].map(|sum| sum / 3.0));
    }

    #[test]
    fn one_input_passes_through() {
        let x = Value::new(&[2], &[1.5f32, -2.0]);
        for op in ["Sum", "Max", "Min", "Mean"] {
            assert_eq!(run::<f32>(op, std::slice::from_ref(&x)), x);
        }
    }

    #[test]
    fn integers_and_halves() {
        let (a, b) = (Value::new(&[2], &[i64::MIN, 7]), Value::new(&[2], &[3i64, -7]));
        assert_eq!(run::<i64>("Max", &[a, b]), Value::new(&[2], &[3i64, 7]));
        // The sum of three halves is rounded once: 2048 + 1 + 1 is 2050, not 2048.
        let half = |x: f32| Value::new(&[1], &[f16::from_f32(x)]);
        assert_eq!(run::<f16>("Sum", &[half(2048.0), half(1.0), half(1.0)]), half(2050.0));
    }
}
