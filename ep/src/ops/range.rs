use kernels::ops::range::Range as Driver;
use kernels::tensor::{DType, Element};

use super::{Decline, Lower, Op, OpRow, Work};
use crate::plan::{Bind, BindError};

pub const ROWS: &[OpRow] = &[OpRow {
    domain: "",
    name: "Range",
    versions: 11..=28,
    inputs: 3..=3,
    outputs: 1..=1,
    // How half-precision ranges are accumulated; those are declined.
    attrs: &["stash_type"],
    work: Work::Glue,
    lower,
}];

struct Range(DType);

fn lower(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let dtype = cx.dtype_in(0, &[DType::F32, DType::I16, DType::I32, DType::I64])?;
    cx.dtype_in(1, &[dtype])?;
    cx.dtype_in(2, &[dtype])?;
    Ok(Box::new(Range(dtype)))
}

impl Op for Range {
    fn shape_inputs(&self) -> &[usize] {
        &[0, 1, 2]
    }

    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let len = match self.0 {
            DType::F32 => float_len(scalars(b)?)?,
            DType::I16 => int_len(scalars::<i16>(b)?.map(i64::from))?,
            DType::I32 => int_len(scalars::<i32>(b)?.map(i64::from))?,
            _ => int_len(scalars(b)?)?,
        };
        let (start, delta) = (b.input(0)?, b.input(2)?);
        let y = b.output(0, self.0, &[len])?;
        b.step(Driver { dtype: self.0, len }, &[start, delta], &[y]);
        Ok(())
    }
}

/// Start, limit and delta.
fn scalars<T: Element>(b: &Bind<'_>) -> Result<[T; 3], BindError> {
    let mut values = [T::zeroed(); 3];
    for (index, value) in values.iter_mut().enumerate() {
        *value = match b.known::<T>(index).as_deref() {
            Some([value]) => *value,
            _ => return Err(BindError::new(format!("input {index} is not one known number"))),
        };
    }
    Ok(values)
}

fn float_len([start, limit, delta]: [f32; 3]) -> Result<usize, BindError> {
    let len = (f64::from(limit - start) / f64::from(delta)).ceil();
    if delta == 0.0 || !len.is_finite() {
        return Err(BindError::new(format!("no range leads from {start} to {limit} by {delta}")));
    }
    // Saturates: a negative length is an empty range, a huge one does not fit into memory.
    Ok(len as usize)
}

fn int_len([start, limit, delta]: [i64; 3]) -> Result<usize, BindError> {
    if delta == 0 {
        return Err(BindError::new(format!("no range leads from {start} to {limit} by 0")));
    }
    let distance = (i128::from(limit) - i128::from(start)) * i128::from(delta.signum());
    let len = u128::try_from(distance).unwrap_or(0).div_ceil(u128::from(delta.unsigned_abs()));
    Ok(usize::try_from(len).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use kernels::tensor::Element;

    use crate::Error;
    use crate::testing::{Model, Value};

    fn range<T: Element>(values: [T; 3]) -> Result<Vec<Value>, Error> {
        let mut model = Model::new();
        for name in ["start", "limit", "delta"] {
            model.input::<T>(name, &[]);
        }
        model.node("Range", &["start", "limit", "delta"], &["y"], vec![]).output("y");
        model.run(&values.map(|value| Value::new(&[], &[value])))
    }

    #[test]
    fn counts_towards_the_limit() {
        assert_eq!(range([1i64, 10, 3]).unwrap(), [Value::new(&[3], &[1i64, 4, 7])]);
        assert_eq!(range([10i32, 4, -2]).unwrap(), [Value::new(&[3], &[10i32, 8, 6])]);
        assert_eq!(range([3i16, 3, 1]).unwrap(), [Value::new::<i16>(&[0], &[])]);
        assert_eq!(range([3i64, 0, 1]).unwrap(), [Value::new::<i64>(&[0], &[])]);
        assert_eq!(range([1f32, 2.1, 0.5]).unwrap(), [Value::new(&[3], &[1f32, 1.5, 2.0])]);
        let long: Vec<i64> = (0..200_000).collect();
        assert_eq!(range([0i64, 200_000, 1]).unwrap(), [Value::new(&[200_000], &long)]);
    }

    #[test]
    fn endless_and_huge_ranges_are_errors() {
        assert!(range([0i64, 1, 0]).unwrap_err().to_string().contains("by 0"));
        assert!(range([0f32, 1.0, 0.0]).unwrap_err().to_string().contains("by 0"));
        assert!(range([0f32, f32::NAN, 1.0]).unwrap_err().to_string().contains("NaN"));
        assert!(range([i64::MIN, i64::MAX, 1]).unwrap_err().to_string().contains("memory"));
        assert!(range([0f32, f32::MAX, 1e-9]).unwrap_err().to_string().contains("memory"));
    }
}
