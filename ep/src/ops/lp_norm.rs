use std::sync::Arc;

use kernels::mem::AlignedBuf;
use kernels::ops::arithmetic::{Arithmetic, ArithmeticOp};
use kernels::ops::reduce::{Reduce, ReduceOp};
use kernels::tensor::{DType, elements};

use super::{Code, Decline, Lower, Op, OpRow, Work, axes};
use crate::plan::{Bind, BindError};

pub const ROWS: &[OpRow] = &[OpRow {
    domain: "",
    name: "LpNormalization",
    versions: 1..=28,
    inputs: 1..=1,
    outputs: 1..=1,
    attrs: &["axis", "p"],
    work: Work::Heavy,
    lower,
}];

struct LpNormalization {
    dtype: DType,
    axis: i64,
    norm: ReduceOp,
}

fn lower(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let norm = match cx.attr_int("p", 2)? {
        1 => ReduceOp::L1,
        2 => ReduceOp::L2,
        p => return Err(Decline::new(Code::Attribute, format!("'p' is {p}"))),
    };
    Ok(Box::new(LpNormalization { dtype: cx.float_input(0)?, axis: cx.attr_int("axis", -1)?, norm }))
}

impl Op for LpNormalization {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let dims = b.dims(0)?;
        let axis = axes::resolve(self.axis, dims.len())?;
        let mut reduced = dims.clone();
        reduced[axis] = 1;
        let x = b.input_f32(0)?;
        let y = b.output_f32(0, self.dtype, &dims)?;
        let (norm, divisor) = (b.temp(DType::F32, elements(&reduced))?, b.temp(DType::F32, elements(&reduced))?);
        // A norm of zero is that of zeros, which any other divisor leaves as they are.
        let least = b.constant(Arc::new(AlignedBuf::copy_of(&f32::from_bits(1).to_ne_bytes())));
        let along: Vec<bool> = (0..dims.len()).map(|index| index == axis).collect();
        b.step(Reduce::new(self.norm, DType::F32, &dims, &along), &[x], &[norm]);
        b.step(Arithmetic::new(ArithmeticOp::Max, DType::F32, &reduced, &[]), &[norm, least], &[divisor]);
        b.step(Arithmetic::new(ArithmeticOp::Div, DType::F32, &dims, &reduced), &[x, divisor], &[y]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::ir::Attr;
    use crate::testing::{Model, Value};

    fn run(p: i64, axis: i64, x: &Value) -> Result<Value, crate::Error> {
        let mut model = Model::new();
        let attrs = vec![("p", Attr::Int(p)), ("axis", Attr::Int(axis))];
        model.input::<f32>("x", &x.dims).version(22).node("LpNormalization", &["x"], &["y"], attrs).output("y");
        Ok(model.run(std::slice::from_ref(x))?.remove(0))
    }

    #[test]
    fn both_norms_on_any_axis() {
        let x = Value::new(&[2, 2], &[3f32, -4.0, 0.0, 12.0]);
        assert_eq!(run(2, -1, &x).unwrap(), Value::new(&[2, 2], &[0.6f32, -0.8, 0.0, 1.0]));
        assert_eq!(run(1, 0, &x).unwrap(), Value::new(&[2, 2], &[1f32, -0.25, 0.0, 0.75]));
        assert!(run(3, 0, &x).unwrap_err().to_string().contains("'p' is 3"));
    }

    #[test]
    fn zeros_stay_zeros() {
        let zeros = Value::new(&[2, 3], &[0f32; 6]);
        for p in [1, 2] {
            assert_eq!(run(p, 1, &zeros).unwrap(), zeros);
        }
    }
}
