use half::f16;
use kernels::ops::select::Select;
use kernels::tensor::DType;

use super::numeric::broadcast;
use super::{Decline, Lower, Op, OpRow, Work};
use crate::plan::{Bind, BindError};

pub const ROWS: &[OpRow] = &[OpRow {
    domain: "",
    name: "Where",
    versions: 9..=28,
    inputs: 3..=3,
    outputs: 1..=1,
    attrs: &[],
    work: Work::Light,
    lower,
}];

struct Where(DType);

fn lower(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    cx.dtype_in(0, &[DType::Bool])?;
    let dtype = cx.dtype(1)?;
    cx.dtype_in(2, &[dtype])?;
    Ok(Box::new(Where(dtype)))
}

impl Op for Where {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let (condition, x_dims, y_dims) = (b.dims(0)?, b.dims(1)?, b.dims(2)?);
        let dims = broadcast(&[&condition, &x_dims, &y_dims])?;
        let inputs = [b.input(0)?, b.input(1)?, b.input(2)?];
        let output = b.output(0, self.0, &dims)?;
        b.step(Select::new(self.0, &condition, &x_dims, &y_dims), &inputs, &[output]);
        if hides(b, 2) {
            b.bound_output(0, b.upper_bound(0));
        }
        Ok(())
    }
}

/// Whether input `index` is known to be -inf, which hides keys in a mask.
fn hides(b: &Bind<'_>, index: usize) -> bool {
    let floats = b.known::<f32>(index).map(|values| values.iter().all(|&x| x == f32::NEG_INFINITY));
    let halves = || b.known::<f16>(index).map(|values| values.iter().all(|&x| x == f16::NEG_INFINITY));
    floats.or_else(halves).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use half::f16;
    use kernels::tensor::{DType, Element};

    use crate::ir::Dim;
    use crate::testing::{Model, Value};

    fn run<T: Element>(condition: Value, x: Value, y: Value) -> Value {
        let mut model = Model::new();
        model.input_of("c", DType::Bool, condition.dims.iter().map(|&dim| Dim::Known(dim)).collect());
        model.input::<T>("x", &x.dims).input::<T>("y", &y.dims).typed("z", T::DTYPE, vec![]);
        model.node("Where", &["c", "x", "y"], &["z"], vec![]).output("z");
        model.run(&[condition, x, y]).unwrap().remove(0)
    }

    #[test]
    fn all_three_broadcast() {
        let condition = || Value::new(&[2, 1], &[1u8, 0]).into_bool();
        let x = Value::new(&[], &[f32::NEG_INFINITY]);
        let y = Value::new(&[3], &[1f32, 2.0, 3.0]);
        let low = f32::NEG_INFINITY;
        assert_eq!(run::<f32>(condition(), x, y), Value::new(&[2, 3], &[low, low, low, 1.0, 2.0, 3.0]));
        let (x, y) = (Value::new(&[2, 2], &[1i64, 2, 3, 4]), Value::new(&[1], &[-1i64]));
        assert_eq!(run::<i64>(condition(), x, y), Value::new(&[2, 2], &[1i64, 2, -1, -1]));
        // Halves are moved, not converted: a signalling NaN keeps its bits.
        let (x, y) = (Value::new(&[1], &[f16::from_bits(0x7c01)]), Value::new(&[1], &[f16::ONE]));
        let z = run::<f16>(condition(), x, y);
        assert_eq!(z.values::<f16>().iter().map(|x| x.to_bits()).collect::<Vec<_>>(), [0x7c01, 0x3c00]);
    }
}
