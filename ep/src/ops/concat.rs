use kernels::ops::concat::Concat as Driver;
use kernels::tensor::{DType, elements};

use super::axes;
use super::{Code, Decline, Lower, Op, OpRow, Work};
use crate::plan::{Bind, BindError};

pub const ROWS: &[OpRow] = &[OpRow {
    domain: "",
    name: "Concat",
    versions: 1..=28,
    inputs: 1..=usize::MAX,
    outputs: 1..=1,
    attrs: &["axis"],
    work: Work::Glue,
    lower,
}];

struct Concat {
    dtype: DType,
    axis: i64,
    inputs: usize,
}

fn lower(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let dtype = cx.dtype(0)?;
    for index in 1..cx.inputs() {
        if cx.dtype(index)? != dtype {
            return Err(Decline::new(Code::DType, format!("input {index} is not {dtype} as input 0 is")));
        }
    }
    Ok(Box::new(Concat { dtype, axis: cx.attr_int("axis", 1)?, inputs: cx.inputs() }))
}

impl Op for Concat {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let mut dims = b.dims(0)?;
        if self.inputs == 1 {
            return b.alias(0, 0, &dims);
        }
        let axis = axes::resolve(self.axis, dims.len())?;
        let (mut parts, mut bufs, mut total) = (Vec::new(), Vec::new(), 0usize);
        let inner = elements(&dims[axis + 1..]);
        for index in 0..self.inputs {
            let part = b.dims(index)?;
            let alike = part.len() == dims.len() && (0..part.len()).all(|a| a == axis || part[a] == dims[a]);
            if !alike {
                let shapes = (part.as_slice(), dims.as_slice());
                return Err(BindError::new(format!(
                    "input {index} of shape {:?} does not join {:?} on axis {axis}",
                    shapes.0, shapes.1
                )));
            }
            parts.push(part[axis].saturating_mul(inner));
            bufs.push(b.input(index)?);
            total = total.saturating_add(part[axis]);
        }
        dims[axis] = total;
        let y = b.output(0, self.dtype, &dims)?;
        if elements(&dims) != 0 {
            b.step(Driver::new(self.dtype, elements(&dims[..axis]), &parts), &bufs, &[y]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::ir::Attr;
    use crate::testing::{Model, Value};

    #[test]
    fn joins_on_every_axis() {
        let shapes = [[2, 3, 2], [2, 3, 2]];
        let values: Vec<Vec<u8>> = (0..2).map(|i| (0..12).map(|j| i * 100 + j).collect()).collect();
        for axis in -3..3i64 {
            let mut model = Model::new();
            model.input::<u8>("a", &shapes[0]).input::<u8>("b", &shapes[1]);
            model.node("Concat", &["a", "b"], &["y"], vec![("axis", Attr::Int(axis))]).output("y");
            let inputs: Vec<Value> = (0..2).map(|i| Value::new(&shapes[i], &values[i])).collect();
            let axis = axis.rem_euclid(3) as usize;
            let mut dims = [2, 3, 2];
            dims[axis] *= 2;
            let mut want = Vec::new();
            for i in 0..dims[0] {
                for j in 0..dims[1] {
                    for k in 0..dims[2] {
                        let mut at = [i, j, k];
                        let half = dims[axis] / 2;
                        let source = usize::from(at[axis] >= half);
                        at[axis] -= source * half;
                        want.push(values[source][(at[0] * 3 + at[1]) * 2 + at[2]]);
                    }
                }
            }
            assert_eq!(model.run(&inputs).unwrap(), [Value::new(&dims, &want)]);
        }
    }

    #[test]
    fn shapes_must_agree_but_on_the_axis() {
        let mut model = Model::new();
        model.input::<f32>("a", &[2, 3]).input::<f32>("b", &[2, 4]);
        model.node("Concat", &["a", "b"], &["y"], vec![("axis", Attr::Int(0))]).output("y");
        let error = model.run(&[Value::new(&[2, 3], &[0f32; 6]), Value::new(&[2, 4], &[0f32; 8])]).unwrap_err();
        assert!(error.to_string().contains("input 1 of shape [2, 4]"), "{error}");
    }
}
