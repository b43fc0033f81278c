use kernels::ops::tensor_scatter::TensorScatter as Driver;
use kernels::tensor::{DType, elements};

use super::{Code, Decline, Lower, Op, OpRow, Work, axes};
use crate::plan::{Bind, BindError};

pub const ROWS: &[OpRow] = &[OpRow {
    domain: "",
    name: "TensorScatter",
    versions: 24..=28,
    inputs: 2..=3,
    outputs: 1..=1,
    attrs: &["axis", "mode"],
    work: Work::Glue,
    lower,
}];

/// Inputs: past_cache, update, write_indices.
struct TensorScatter {
    dtype: DType,
    axis: i64,
    circular: bool,
}

fn lower(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let dtype = cx.dtype(0)?;
    cx.dtype_in(1, &[dtype])?;
    if cx.has_input(2) {
        cx.dtype_in(2, &[DType::I64])?;
    }
    let circular = match cx.attr_str("mode", "linear")? {
        "linear" => false,
        "circular" => true,
        other => return Err(Decline::new(Code::Attribute, format!("mode '{other}' is not known"))),
    };
    Ok(Box::new(TensorScatter { dtype, axis: cx.attr_int("axis", -2)?, circular }))
}

impl Op for TensorScatter {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let (cache, update) = (b.dims(0)?, b.dims(1)?);
        let axis = axes::resolve(self.axis, cache.len())?;
        let mut same = update.clone();
        if update.len() == cache.len() {
            same[axis] = cache[axis];
        }
        if axis == 0 || same != cache || update[axis] > cache[axis] {
            return Err(BindError::new(format!("an update of shape {update:?} does not fit a cache of {cache:?}")));
        }
        let mut inputs = vec![b.input(0)?, b.input(1)?];
        if b.has_input(2) {
            let indices = b.dims(2)?;
            if indices.as_slice() != [cache[0]] {
                return Err(BindError::new(format!(
                    "write indices of shape {indices:?} do not fit {} batches",
                    cache[0]
                )));
            }
            inputs.push(b.input(2)?);
        }
        let y = b.output(0, self.dtype, &cache)?;
        if elements(&cache) != 0 {
            let (prefix, inner) = (elements(&cache[1..axis]), elements(&cache[axis + 1..]));
            let (batch, max_len, len) = (cache[0], cache[axis], update[axis]);
            let (dtype, circular) = (self.dtype, self.circular);
            b.step(Driver { dtype, batch, prefix, max_len, len, inner, circular }, &inputs, &[y]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::ir::Attr;
    use crate::testing::{Model, Value};

    fn run(update: &[usize], indices: &[i64], axis: i64, mode: &str) -> Result<Value, String> {
        let mut model = Model::new();
        model.input::<i32>("cache", &[2, 3, 2]).input::<i32>("update", update).input::<i64>("at", &[indices.len()]);
        let attrs = vec![("axis", Attr::Int(axis)), ("mode", Attr::Str(mode.into()))];
        model.version(24).node("TensorScatter", &["cache", "update", "at"], &["y"], attrs).output("y");
        let count = update.iter().product::<usize>() as i32;
        let inputs = [
            Value::new(&[2, 3, 2], &(0..12).collect::<Vec<i32>>()),
            Value::new(update, &(100..100 + count).collect::<Vec<i32>>()),
            Value::new(&[indices.len()], indices),
        ];
        Ok(model.run(&inputs).map_err(|error| error.to_string())?.remove(0))
    }

    #[test]
    fn writes_into_a_copy() {
        let y = run(&[2, 2, 2], &[1, 0], -2, "linear").unwrap();
        assert_eq!(y, Value::new(&[2, 3, 2], &[0, 1, 100, 101, 102, 103, 104, 105, 106, 107, 10, 11]));
        let y = run(&[2, 2, 2], &[2, 0], 1, "circular").unwrap();
        assert_eq!(y, Value::new(&[2, 3, 2], &[102, 103, 2, 3, 100, 101, 104, 105, 106, 107, 10, 11]));
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        assert!(run(&[2, 4, 2], &[0, 0], -2, "linear").unwrap_err().contains("does not fit a cache"));
        assert!(run(&[2, 2, 1], &[0, 0], -2, "linear").unwrap_err().contains("does not fit a cache"));
        assert!(run(&[1, 3, 2], &[0, 0], 0, "linear").unwrap_err().contains("does not fit a cache"));
        assert!(run(&[2, 2, 2], &[0], -2, "linear").unwrap_err().contains("write indices"));
        assert!(run(&[2, 2, 2], &[2, 0], -2, "linear").unwrap_err().contains("positions from 2 on"));
        assert!(run(&[2, 2, 2], &[0, 0], -2, "spiral").unwrap_err().contains("'spiral'"));
    }
}
