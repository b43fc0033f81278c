use std::sync::Arc;

use kernels::mem::AlignedBuf;
use kernels::ops::arg::{Arg, ArgOp};
use kernels::ops::one_hot::OneHot;
use kernels::tensor::{DType, elements};

use super::{Decline, Lower, Op, OpRow, Work, axes};
use crate::plan::{Bind, BindError};

pub const ROWS: &[OpRow] = &[OpRow {
    domain: "",
    name: "Hardmax",
    versions: 1..=28,
    inputs: 1..=1,
    outputs: 1..=1,
    attrs: &["axis"],
    work: Work::Light,
    lower,
}];

/// One where the first of the largest elements of an axis is, else zero.
struct Hardmax {
    dtype: DType,
    axis: i64,
    /// Before version 13 all axes from `axis` on are one.
    flatten: bool,
}

fn lower(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let flatten = cx.version() < 13;
    let axis = cx.attr_int("axis", if flatten { 1 } else { -1 })?;
    Ok(Box::new(Hardmax { dtype: cx.float_input(0)?, axis, flatten }))
}

impl Op for Hardmax {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let dims = b.dims(0)?;
        let axis = axes::resolve(self.axis, dims.len())?;
        let x = b.input_f32(0)?;
        let y = b.output_f32(0, self.dtype, &dims)?;
        if elements(&dims) == 0 {
            return Ok(());
        }
        let outer = elements(&dims[..axis]);
        let (len, inner) = match self.flatten {
            true => (elements(&dims[axis..]), 1),
            false => (dims[axis], elements(&dims[axis + 1..])),
        };
        let place = b.temp(DType::I64, outer * inner)?;
        b.step(Arg::new(ArgOp::Max, DType::F32, outer, len, inner, false), &[x], &[place]);
        let values = b.constant(Arc::new(AlignedBuf::copy_of(bytemuck::cast_slice(&[0f32, 1.0]))));
        b.step(OneHot { dtype: DType::F32, index: DType::I64, outer, depth: len, inner }, &[place, values], &[y]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::ir::Attr;
    use crate::testing::{Model, Value};

    #[test]
    fn marks_the_first_of_the_largest() {
        let x = Value::new(&[2, 2, 2], &[1f32, 3.0, 3.0, 0.0, -1.0, -1.0, -2.0, 5.0]);
        for (version, axis, expected) in [
            (13, -1, [0f32, 1., 1., 0., 1., 0., 0., 1.]),
            (13, 1, [0., 1., 1., 0., 1., 0., 0., 1.]),
            (13, 0, [1., 1., 1., 0., 0., 0., 0., 1.]),
            (11, 1, [0., 1., 0., 0., 0., 0., 0., 1.]),
        ] {
            let mut model = Model::new();
            let attrs = vec![("axis", Attr::Int(axis))];
            model.input::<f32>("x", &x.dims).version(version).node("Hardmax", &["x"], &["y"], attrs).output("y");
            assert_eq!(
                model.run(std::slice::from_ref(&x)).unwrap(),
                [Value::new(&[2, 2, 2], &expected)],
                "{version} {axis}"
            );
        }
    }
}
