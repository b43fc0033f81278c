use kernels::ops::strided_copy::StridedCopy;
use kernels::tensor::{DType, Dims};

use super::axes;
use super::{Decline, Lower, Op, OpRow, Work};
use crate::plan::{Bind, BindError};

pub const ROWS: &[OpRow] = &[OpRow {
    domain: "",
    name: "Transpose",
    versions: 1..=28,
    inputs: 1..=1,
    outputs: 1..=1,
    attrs: &["perm"],
    work: Work::Glue,
    lower,
}];

struct Transpose {
    dtype: DType,
    /// `None` reverses the axes.
    perm: Option<Vec<i64>>,
}

fn lower(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    Ok(Box::new(Transpose { dtype: cx.dtype(0)?, perm: cx.attr_ints("perm")?.map(<[i64]>::to_vec) }))
}

impl Op for Transpose {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let dims = b.dims(0)?;
        let perm: Vec<usize> = match &self.perm {
            Some(perm) if perm.len() != dims.len() => {
                return Err(BindError::new(format!("perm {perm:?} does not fit a tensor of rank {}", dims.len())));
            }
            Some(perm) => axes::resolve_all(perm, dims.len())?,
            None => (0..dims.len()).rev().collect(),
        };
        let out: Dims = perm.iter().map(|&axis| dims[axis]).collect();
        // Moving axes of length 1 moves no element.
        let moving: Vec<usize> = perm.iter().copied().filter(|&axis| dims[axis] != 1).collect();
        if moving.is_sorted() {
            return b.alias(0, 0, &out);
        }
        let (x, y) = (b.input(0)?, b.output(0, self.dtype, &out)?);
        b.step(StridedCopy::transpose(self.dtype, &dims, &perm), &[x], &[y]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::ir::Attr;
    use crate::testing::{Model, Value};

    fn transpose(dims: &[usize], perm: Option<&[i64]>) -> Result<Value, String> {
        let attrs = perm.map(|perm| ("perm", Attr::Ints(perm.to_vec()))).into_iter().collect();
        let mut model = Model::new();
        model.input::<i64>("x", dims).node("Transpose", &["x"], &["y"], attrs).output("y");
        let values: Vec<i64> = (0..dims.iter().product::<usize>() as i64).collect();
        let outputs = model.run(&[Value::new(dims, &values)]).map_err(|error| error.to_string())?;
        Ok(outputs[0].clone())
    }

    #[test]
    fn permutes_axes() {
        let got = transpose(&[2, 3, 4], Some(&[2, 0, 1])).unwrap();
        let mut want = Vec::new();
        for k in 0..4i64 {
            for i in 0..2 {
                for j in 0..3 {
                    want.push((i * 3 + j) * 4 + k);
                }
            }
        }
        assert_eq!(got, Value::new(&[4, 2, 3], &want));
        assert_eq!(transpose(&[2, 3], None).unwrap(), Value::new(&[3, 2], &[0i64, 3, 1, 4, 2, 5]));
        assert_eq!(
            transpose(&[1, 3, 1, 2], Some(&[2, 1, 3, 0])).unwrap(),
            Value::new(&[1, 3, 2, 1], &[0i64, 1, 2, 3, 4, 5])
        );
        assert_eq!(transpose(&[], None).unwrap(), Value::new(&[], &[0i64]));
        assert_eq!(transpose(&[0, 3], None).unwrap(), Value::new::<i64>(&[3, 0], &[]));
    }

    #[test]
    fn rejects_what_is_no_permutation() {
        assert!(transpose(&[2, 3], Some(&[0])).unwrap_err().contains("rank 2"));
        assert!(transpose(&[2, 3], Some(&[0, 0])).unwrap_err().contains("twice"));
        assert!(transpose(&[2, 3], Some(&[0, 2])).unwrap_err().contains("axis 2"));
    }
}
