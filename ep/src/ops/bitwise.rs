//! Operators on the bits of integers.

use std::sync::Arc;

use kernels::mem::AlignedBuf;
use kernels::ops::bitwise::{Bitwise as Driver, BitwiseOp};
use kernels::tensor::DType;

use super::numeric::{broadcast, shared_dtype};
use super::{Code, Decline, Lower, Op, OpRow, Work};
use crate::plan::{Bind, BindError};

const fn row(name: &'static str, inputs: usize, lower: fn(&Lower<'_, '_>) -> Result<Box<dyn Op>, Decline>) -> OpRow {
    let inputs = inputs..=inputs;
    OpRow { domain: "", name, versions: 18..=28, inputs, outputs: 1..=1, attrs: &[], work: Work::Light, lower }
}

pub const ROWS: &[OpRow] = &[
    row("BitwiseAnd", 2, |cx| lower(cx, BitwiseOp::And)),
    row("BitwiseNot", 1, not),
    row("BitwiseOr", 2, |cx| lower(cx, BitwiseOp::Or)),
    row("BitwiseXor", 2, |cx| lower(cx, BitwiseOp::Xor)),
    OpRow { versions: 11..=28, attrs: &["direction"], ..row("BitShift", 2, shift) },
];

struct Bitwise {
    op: BitwiseOp,
    dtype: DType,
}

fn lower(cx: &Lower<'_, '_>, op: BitwiseOp) -> Result<Box<dyn Op>, Decline> {
    Ok(Box::new(Bitwise { op, dtype: shared_dtype(cx, 2, Driver::supports)? }))
}

fn shift(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    match cx.attr_str("direction", "")? {
        "LEFT" => lower(cx, BitwiseOp::ShiftLeft),
        "RIGHT" => lower(cx, BitwiseOp::ShiftRight),
        other => Err(Decline::new(Code::Attribute, format!("direction '{other}' is not known"))),
    }
}

impl Op for Bitwise {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let (a_dims, b_dims) = (b.dims(0)?, b.dims(1)?);
        let dims = broadcast(&[&a_dims, &b_dims])?;
        let (inputs, y) = ([b.input(0)?, b.input(1)?], b.output(0, self.dtype, &dims)?);
        b.step(Driver::new(self.op, self.dtype, &a_dims, &b_dims), &inputs, &[y]);
        Ok(())
    }
}

/// `x ^ 11..1`
struct Not(DType);

fn not(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    Ok(Box::new(Not(shared_dtype(cx, 1, Driver::supports)?)))
}

impl Op for Not {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let dims = b.dims(0)?;
        let ones = b.constant(Arc::new(AlignedBuf::copy_of(&[0xff; 8][..self.0.size()])));
        let (x, y) = (b.input(0)?, b.output(0, self.0, &dims)?);
        b.step(Driver::new(BitwiseOp::Xor, self.0, &dims, &[]), &[x, ones], &[y]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use kernels::tensor::Element;

    use crate::ir::Attr;
    use crate::testing::{Model, Value};

    fn run<T: Element>(op: &str, direction: Option<&str>, inputs: &[&[T]]) -> Result<Value, crate::Error> {
        let names = ["a", "b"];
        let mut model = Model::new();
        inputs.iter().zip(names).for_each(|(values, name)| {
            model.input::<T>(name, &[values.len()]);
        });
        let attrs = direction.map(|direction| ("direction", Attr::Str(direction.into()))).into_iter().collect();
        model.node(op, &names[..inputs.len()], &["y"], attrs).output("y");
        let values: Vec<Value> = inputs.iter().map(|values| Value::new(&[values.len()], values)).collect();
        Ok(model.run(&values)?.remove(0))
    }

    #[test]
    fn every_operator() {
        let (a, b) = ([0b1100i16, -1, 5], [0b1010i16]);
        assert_eq!(run("BitwiseAnd", None, &[&a, &b]).unwrap(), Value::new(&[3], &[0b1000i16, 10, 0]));
        assert_eq!(run("BitwiseOr", None, &[&a, &b]).unwrap(), Value::new(&[3], &[0b1110i16, -1, 15]));
        assert_eq!(run("BitwiseXor", None, &[&a, &b]).unwrap(), Value::new(&[3], &[0b0110i16, -11, 15]));
        assert_eq!(run("BitwiseNot", None, &[&a]).unwrap(), Value::new(&[3], &[-13i16, 0, -6]));
        let (a, b) = ([1u8, 200], [3u8, 9]);
        assert_eq!(run("BitShift", Some("LEFT"), &[&a, &b]).unwrap(), Value::new(&[2], &[8u8, 0]));
        assert_eq!(run("BitShift", Some("RIGHT"), &[&b, &a]).unwrap(), Value::new(&[2], &[1u8, 0]));
        let (a, b) = ([-8i8, -8, 8], [1i8, 99, -1]);
        assert_eq!(run("BitShift", Some("RIGHT"), &[&a, &b]).unwrap(), Value::new(&[3], &[-4i8, -1, 0]));
    }

    #[test]
    fn floats_and_unknown_directions_are_declined() {
        assert!(run("BitwiseAnd", None, &[&[1f32], &[2f32]]).unwrap_err().to_string().contains("f32"));
        assert!(run("BitShift", Some("UP"), &[&[1u8], &[2u8]]).unwrap_err().to_string().contains("'UP'"));
    }
}
