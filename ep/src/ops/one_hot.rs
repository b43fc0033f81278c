use kernels::ops::one_hot::OneHot as Driver;
use kernels::tensor::{DType, elements};

use super::axes;
use super::{Decline, Lower, Op, OpRow, Work};
use crate::plan::{Bind, BindError};

pub const ROWS: &[OpRow] = &[OpRow {
    domain: "",
    name: "OneHot",
    versions: 9..=28,
    inputs: 3..=3,
    outputs: 1..=1,
    attrs: &["axis"],
    work: Work::Glue,
    lower,
}];

struct OneHot {
    dtype: DType,
    index: DType,
    axis: i64,
}

const NUMBERS: [DType; 3] = [DType::I64, DType::I32, DType::F32];

fn lower(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let index = cx.dtype_in(0, &NUMBERS)?;
    cx.dtype_in(1, &NUMBERS)?;
    Ok(Box::new(OneHot { dtype: cx.dtype(2)?, index, axis: cx.attr_int("axis", -1)? }))
}

impl Op for OneHot {
    fn shape_inputs(&self) -> &[usize] {
        &[1]
    }

    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let mut dims = b.dims(0)?;
        let axis = axes::resolve(self.axis, dims.len() + 1)?;
        let depth = depth(b)?;
        if b.dims(2)?.as_slice() != [2] {
            return Err(BindError::new("the values are not two"));
        }
        let (outer, inner) = (elements(&dims[..axis]), elements(&dims[axis..]));
        dims.insert(axis, depth);
        let (indices, values, y) = (b.input(0)?, b.input(2)?, b.output(0, self.dtype, &dims)?);
        if elements(&dims) != 0 {
            let driver = Driver { dtype: self.dtype, index: self.index, outer, depth, inner };
            b.step(driver, &[indices, values], &[y]);
        }
        Ok(())
    }
}

/// Input 1: one number of any type.
fn depth(b: &Bind<'_>) -> Result<usize, BindError> {
    let depth = match b.known::<f32>(1) {
        Some(depth) => depth.iter().map(|&depth| depth as i64).collect(),
        None => b.known_i64(1)?,
    };
    match depth.as_slice() {
        [depth] => usize::try_from(*depth).map_err(|_| BindError::new(format!("the depth is {depth}"))),
        _ => Err(BindError::new("the depth is not one number")),
    }
}

#[cfg(test)]
mod tests {
    use crate::ir::Attr;
    use crate::testing::{Model, Value};

    #[test]
    fn puts_the_new_axis_anywhere() {
        let indices = [0f32, -1., 3., 2.];
        for axis in -3..3i64 {
            let mut model = Model::new();
            model.input::<f32>("indices", &[2, 2]).constant("depth", &[1], &[3i32]).constant("values", &[2], &[5i8, 6]);
            model.node("OneHot", &["indices", "depth", "values"], &["y"], vec![("axis", Attr::Int(axis))]).output("y");
            let got = model.run(&[Value::new(&[2, 2], &indices)]).unwrap();
            let axis = axis.rem_euclid(3) as usize;
            let mut dims = vec![2, 2];
            dims.insert(axis, 3);
            let want: Vec<i8> = (0..12)
                .map(|at| {
                    let mut place = vec![at / dims[2] / dims[1], at / dims[2] % dims[1], at % dims[2]];
                    let depth = place.remove(axis) as f32;
                    let index = indices[place[0] * 2 + place[1]];
                    if index == depth || index + 3. == depth { 6 } else { 5 }
                })
                .collect();
            assert_eq!(got, [Value::new(&dims, &want)]);
        }
    }
}
