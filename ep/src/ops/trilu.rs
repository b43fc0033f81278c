use kernels::ops::trilu::Trilu as Driver;
use kernels::tensor::{DType, elements};

use super::{Decline, Lower, MICROSOFT, Op, OpRow, Work};
use crate::plan::{Bind, BindError};

const ROW: OpRow = OpRow {
    domain: "",
    name: "Trilu",
    versions: 14..=28,
    inputs: 1..=2,
    outputs: 1..=1,
    attrs: &["upper"],
    work: Work::Glue,
    lower,
};

pub const ROWS: &[OpRow] = &[ROW, OpRow { domain: MICROSOFT, versions: 1..=1, ..ROW }];

struct Trilu {
    dtype: DType,
    upper: bool,
}

fn lower(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    if cx.has_input(1) {
        cx.dtype_in(1, &[DType::I64])?;
    }
    Ok(Box::new(Trilu { dtype: cx.dtype(0)?, upper: cx.attr_bool("upper", true)? }))
}

impl Op for Trilu {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let dims = b.dims(0)?;
        let [batch @ .., rows, cols] = dims.as_slice() else {
            return Err(BindError::new(format!("shape {:?} is not that of matrices", dims.as_slice())));
        };
        let mut inputs = vec![b.input(0)?];
        if b.has_input(1) {
            if elements(&b.dims(1)?) != 1 {
                return Err(BindError::new("input 1 is not one element"));
            }
            inputs.push(b.input(1)?);
        }
        let y = b.output(0, self.dtype, &dims)?;
        if elements(&dims) != 0 {
            let (dtype, upper, batch) = (self.dtype, self.upper, elements(batch));
            b.step(Driver { dtype, batch, rows: *rows, cols: *cols, upper }, &inputs, &[y]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::ir::Attr;
    use crate::testing::{Model, Value};

    #[test]
    fn keeps_a_triangle_of_every_matrix() {
        let values: Vec<i64> = (1..=24).collect();
        for upper in [0, 1] {
            for k in [None, Some(-1i64), Some(2)] {
                let mut model = Model::new();
                model.input::<i64>("x", &[2, 3, 4]).input::<i64>("k", &[]);
                let inputs = if k.is_some() { vec!["x", "k"] } else { vec!["x"] };
                model.node("Trilu", &inputs, &["y"], vec![("upper", Attr::Int(upper))]).output("y");
                let keep = |at: i64| {
                    let (across, k) = (at % 4 - at / 4 % 3, k.unwrap_or(0));
                    if upper == 1 { across >= k } else { across <= k }
                };
                let want: Vec<i64> = (0..24).map(|at| if keep(at) { at + 1 } else { 0 }).collect();
                let x = Value::new(&[2, 3, 4], &values);
                let got = model.run(&[x, Value::new(&[], &[k.unwrap_or(0)])]).unwrap();
                assert_eq!(got, [Value::new(&[2, 3, 4], &want)]);
            }
        }
    }
}
