use kernels::ops::cum_sum::CumSum as Driver;
use kernels::tensor::{DType, elements};

use super::axes;
use super::{Decline, Lower, Op, OpRow, Work};
use crate::plan::{Bind, BindError};

pub const ROWS: &[OpRow] = &[OpRow {
    domain: "",
    name: "CumSum",
    versions: 11..=28,
    inputs: 2..=2,
    outputs: 1..=1,
    attrs: &["exclusive", "reverse"],
    work: Work::Light,
    lower,
}];

struct CumSum {
    dtype: DType,
    exclusive: bool,
    reverse: bool,
}

fn lower(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    cx.dtype_in(1, &[DType::I32, DType::I64])?;
    let dtype = cx.dtype_in(0, &[DType::F32, DType::F16, DType::I32, DType::U32, DType::I64, DType::U64])?;
    let (exclusive, reverse) = (cx.attr_bool("exclusive", false)?, cx.attr_bool("reverse", false)?);
    Ok(Box::new(CumSum { dtype, exclusive, reverse }))
}

impl Op for CumSum {
    fn shape_inputs(&self) -> &[usize] {
        &[1]
    }

    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let (dims, axis) = (b.dims(0)?, b.known_i64(1)?);
        let &[axis] = axis.as_slice() else { return Err(BindError::new("the axis is not one number")) };
        let axis = axes::resolve(axis, dims.len())?;
        let (x, y, dtype) = match self.dtype {
            DType::F32 | DType::F16 => (b.input_f32(0)?, b.output_f32(0, self.dtype, &dims)?, DType::F32),
            dtype => (b.input(0)?, b.output(0, dtype, &dims)?, dtype),
        };
        if elements(&dims) != 0 {
            let (outer, inner) = (elements(&dims[..axis]), elements(&dims[axis + 1..]));
            let (exclusive, reverse) = (self.exclusive, self.reverse);
            b.step(Driver { dtype, outer, len: dims[axis], inner, exclusive, reverse }, &[x], &[y]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use half::f16;
    use kernels::tensor::Element;

    use crate::ir::Attr;
    use crate::testing::{Model, Value};

    fn cum_sum<T: Element>(values: &[T], axis: i32, exclusive: bool, reverse: bool) -> Value {
        let mut model = Model::new();
        let attrs = vec![("exclusive", Attr::Int(exclusive.into())), ("reverse", Attr::Int(reverse.into()))];
        model.input::<T>("x", &[2, 3]).constant("axis", &[], &[axis]);
        model.node("CumSum", &["x", "axis"], &["y"], attrs).output("y");
        model.run(&[Value::new(&[2, 3], values)]).unwrap()[0].clone()
    }

    #[test]
    fn sums_along_an_axis() {
        let x = [1f32, 2., 3., 4., 5., 6.];
        assert_eq!(cum_sum(&x, -1, false, false), Value::new(&[2, 3], &[1f32, 3., 6., 4., 9., 15.]));
        assert_eq!(cum_sum(&x, 0, true, false), Value::new(&[2, 3], &[0f32, 0., 0., 1., 2., 3.]));
        assert_eq!(
            cum_sum(&x.map(f16::from_f32), 1, true, true),
            Value::new(&[2, 3], &[5., 3., 0., 11., 6., 0.].map(f16::from_f32))
        );
        assert_eq!(
            cum_sum(&[i32::MAX, 1, 0, 0, 0, 1], 1, false, false),
            Value::new(&[2, 3], &[i32::MAX, i32::MIN, i32::MIN, 0, 0, 1])
        );
    }
}
