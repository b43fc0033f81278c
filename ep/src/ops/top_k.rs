use kernels::ops::top_k::TopK as Driver;
use kernels::tensor::{DType, Dims, elements};

use super::axes::{self, IntList};
use super::numeric::{self, computed, shared_dtype};
use super::{Decline, Lower, Op, OpRow, Work};
use crate::plan::{Bind, BindError};

pub const ROWS: &[OpRow] = &[OpRow {
    domain: "",
    name: "TopK",
    versions: 10..=28,
    inputs: 2..=2,
    outputs: 1..=2,
    attrs: &["axis", "largest", "sorted"],
    work: Work::Light,
    lower,
}];

/// Inputs: X and the number of elements. Those that need no order come out in order too.
struct TopK {
    dtype: DType,
    axis: i64,
    k: IntList,
    largest: bool,
}

fn lower(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let dtype = shared_dtype(cx, 1, Driver::supports)?;
    cx.attr_bool("sorted", true)?;
    let k = IntList::lower(cx, "k", 1, 10)?.required("K")?;
    Ok(Box::new(TopK { dtype, axis: cx.attr_int("axis", -1)?, k, largest: cx.attr_bool("largest", true)? }))
}

impl Op for TopK {
    fn shape_inputs(&self) -> &[usize] {
        &[1]
    }

    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let dims = b.dims(0)?;
        let axis = axes::resolve(self.axis, dims.len())?;
        let given = self.k.get(b)?.unwrap_or_default();
        let len = dims[axis];
        let k = match given.as_slice() {
            &[k] => usize::try_from(k).ok().filter(|&k| k <= len),
            _ => None,
        };
        let k = k.filter(|_| u32::try_from(len).is_ok());
        let k = k.ok_or_else(|| BindError::new(format!("K is {given:?} on an axis of {len} elements")))?;
        let mut out: Dims = dims.clone();
        out[axis] = k;
        let x = numeric::input(b, 0, self.dtype)?;
        let values = match b.has_output(0) {
            true => numeric::output(b, self.dtype, &out)?,
            false => b.temp(computed(self.dtype), elements(&out))?,
        };
        let indices = match b.has_output(1) {
            true => b.output(1, DType::I64, &out)?,
            false => b.temp(DType::I64, elements(&out))?,
        };
        if elements(&out) != 0 {
            let sizes = [elements(&dims[..axis]), len, elements(&dims[axis + 1..])];
            b.step(Driver::new(computed(self.dtype), sizes, k, self.largest), &[x], &[values, indices]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use half::f16;
    use kernels::tensor::DType;

    use crate::ir::{Attr, Dim};
    use crate::testing::{Model, Value};

    fn run(x: &Value, k: i64, attrs: Vec<(&str, Attr<'static>)>) -> Result<Vec<Value>, crate::Error> {
        let mut model = Model::new();
        model.input_of("x", x.dtype, x.dims.iter().map(|&dim| Dim::Known(dim)).collect()).input::<i64>("k", &[1]);
        model.typed("indices", DType::I64, vec![Dim::Unknown; x.dims.len()]);
        model.version(11).node("TopK", &["x", "k"], &["values", "indices"], attrs).output("values").output("indices");
        model.run(&[x.clone(), Value::new(&[1], &[k])])
    }

    #[test]
    fn largest_and_smallest_on_any_axis() {
        let x = Value::new(&[2, 3], &[1f32, 5.0, 5.0, 4.0, 0.0, 6.0]);
        let y = run(&x, 2, vec![]).unwrap();
        assert_eq!(y, [Value::new(&[2, 2], &[5f32, 5.0, 6.0, 4.0]), Value::new(&[2, 2], &[1i64, 2, 2, 0])]);
        let smallest = vec![("axis", Attr::Int(0)), ("largest", Attr::Int(0)), ("sorted", Attr::Int(0))];
        let y = run(&x, 1, smallest).unwrap();
        assert_eq!(y, [Value::new(&[1, 3], &[1f32, 0.0, 5.0]), Value::new(&[1, 3], &[0i64, 1, 0])]);
        let halves = Value::new(&[3], &[1.5, 2.5, -1.0].map(f16::from_f32));
        assert_eq!(run(&halves, 1, vec![]).unwrap()[0], Value::new(&[1], &[f16::from_f32(2.5)]));
    }

    #[test]
    fn there_must_be_as_many() {
        let x = Value::new(&[2], &[1i64, 2]);
        for k in [3, -1] {
            assert!(run(&x, k, vec![]).unwrap_err().to_string().contains("on an axis of 2 elements"));
        }
        assert_eq!(run(&x, 0, vec![]).unwrap()[1], Value::new::<i64>(&[0], &[]));
    }
}
