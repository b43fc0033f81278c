use std::sync::Arc;

use half::f16;
use kernels::mem::AlignedBuf;
use kernels::ops::clip::Clip as Driver;
use kernels::tensor::{DType, elements};

use super::numeric::{self, computed, shared_dtype};
use super::{Decline, Lower, Op, OpRow, Work};
use crate::plan::{Bind, BindError};

pub const ROWS: &[OpRow] = &[OpRow {
    domain: "",
    name: "Clip",
    versions: 6..=28,
    inputs: 1..=3,
    outputs: 1..=1,
    attrs: &["min", "max"],
    work: Work::Light,
    lower,
}];

/// What a bound is when no input gives it: an attribute until version 11, or a finite extreme of the type.
struct Clip {
    dtype: DType,
    defaults: [f32; 2],
}

fn lower(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    if cx.version() < 11 {
        let defaults = [cx.attr_float("min", f32::MIN)?, cx.attr_float("max", f32::MAX)?];
        return Ok(Box::new(Clip { dtype: cx.float_input(0)?, defaults }));
    }
    let dtype = shared_dtype(cx, 1, Driver::supports)?;
    for index in (1..=2).filter(|&index| cx.has_input(index)) {
        cx.dtype_in(index, &[dtype])?;
    }
    let highest = if dtype == DType::F16 { f16::MAX.to_f32() } else { f32::MAX };
    Ok(Box::new(Clip { dtype, defaults: [-highest, highest] }))
}

impl Op for Clip {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let dims = b.dims(0)?;
        let mut inputs = vec![numeric::input(b, 0, self.dtype)?];
        let mut has_bound = [self.dtype.is_float(); 2];
        for index in 1..=2 {
            if b.has_input(index) {
                if elements(&b.dims(index)?) != 1 {
                    return Err(BindError::new(format!("input {index} is not one element")));
                }
                inputs.push(numeric::input(b, index, self.dtype)?);
                has_bound[index - 1] = true;
            } else if self.dtype.is_float() {
                let bytes = self.defaults[index - 1].to_ne_bytes();
                inputs.push(b.constant(Arc::new(AlignedBuf::copy_of(&bytes))));
            }
        }
        let y = numeric::output(b, self.dtype, &dims)?;
        b.step(Driver::new(computed(self.dtype), elements(&dims), has_bound[0], has_bound[1]), &inputs, &[y]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use half::f16;
    use kernels::tensor::Element;

    use crate::Error;
    use crate::ir::Attr;
    use crate::testing::{Model, Value};

    fn run<T: Element>(x: &[T], low: Option<&[T]>, high: Option<&[T]>) -> Result<Vec<T>, Error> {
        let mut model = Model::new();
        model.input::<T>("x", &[x.len()]);
        let mut values = vec![Value::new(&[x.len()], x)];
        for (name, bound) in [("low", low), ("high", high)] {
            if let Some(bound) = bound {
                let dims: &[usize] = if bound.len() == 1 { &[] } else { &[bound.len()] };
                model.input::<T>(name, dims);
                values.push(Value::new(dims, bound));
            }
        }
        let name = |name, bound: Option<&[T]>| if bound.is_some() { name } else { "" };
        model.node("Clip", &["x", name("low", low), name("high", high)], &["y"], vec![]).output("y");
        Ok(model.run(&values)?[0].values::<T>().to_vec())
    }

    #[test]
    fn bounds_are_optional_inputs() {
        let x = [-5f32, 0.5, 9.0];
        assert_eq!(run(&x, Some(&[0.0]), Some(&[6.0])).unwrap(), [0.0, 0.5, 6.0]);
        assert_eq!(run(&x, None, Some(&[6.0])).unwrap(), [-5.0, 0.5, 6.0]);
        assert_eq!(run(&x, Some(&[0.0]), None).unwrap(), [0.0, 0.5, 9.0]);
        assert_eq!(run(&x, None, None).unwrap(), x);
        assert_eq!(run(&[-3i64, 3], Some(&[-1]), Some(&[1])).unwrap(), [-1, 1]);
        let half = f16::from_f32;
        assert_eq!(run(&[half(-3.0), half(3.0)], Some(&[half(-1.5)]), None).unwrap(), [half(-1.5), half(3.0)]);
        assert_eq!(run(&[half(f32::NEG_INFINITY)], None, Some(&[half(1.0)])).unwrap(), [f16::MIN]);
        assert_eq!(run(&[f32::INFINITY], Some(&[1.0]), None).unwrap(), [f32::MAX]);
        assert!(run(&x, Some(&[0.0, 1.0]), None).unwrap_err().to_string().contains("input 1"));
    }

    #[test]
    fn bounds_were_attributes() {
        let mut model = Model::new();
        model.version(6).input::<f32>("x", &[3]);
        model.node("Clip", &["x"], &["y"], vec![("max", Attr::Float(6.0)), ("min", Attr::Float(0.0))]).output("y");
        let y = model.run(&[Value::new(&[3], &[-1f32, 3.0, 7.0])]).unwrap();
        assert_eq!(y, [Value::new(&[3], &[0f32, 3.0, 6.0])]);
    }
}
