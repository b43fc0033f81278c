use half::{bf16, f16};
use kernels::ops::eye::Eye;
use kernels::tensor::{DType, elements};

use super::{Code, Decline, Lower, Op, OpRow, Work};
use crate::plan::{Bind, BindError};

pub const ROWS: &[OpRow] = &[OpRow {
    domain: "",
    name: "EyeLike",
    versions: 9..=28,
    inputs: 1..=1,
    outputs: 1..=1,
    attrs: &["dtype", "k"],
    work: Work::Glue,
    lower,
}];

struct EyeLike {
    dtype: DType,
    k: i64,
}

fn lower(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let input = cx.dtype(0)?;
    // The attribute also decides the type that the graph gives the output.
    let dtype = match cx.node().attrs.get("dtype") {
        None => input,
        Some(_) => cx.output_dtype(0).ok_or_else(|| Decline::new(Code::DType, "the type of the output is unknown"))?,
    };
    Ok(Box::new(EyeLike { dtype, k: cx.attr_int("k", 0)? }))
}

impl Op for EyeLike {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let dims = b.dims(0)?;
        let &[rows, cols] = dims.as_slice() else {
            return Err(BindError::new(format!("shape {:?} is not that of a matrix", dims.as_slice())));
        };
        let y = b.output(0, self.dtype, &dims)?;
        if elements(&dims) != 0 {
            b.step(Eye { dtype: self.dtype, rows, cols, k: self.k, one: one(self.dtype) }, &[], &[y]);
        }
        Ok(())
    }
}

/// The bytes of a one, first those that count.
fn one(dtype: DType) -> [u8; 8] {
    let mut bytes = [0; 8];
    let mut put = |value: &[u8]| bytes[..value.len()].copy_from_slice(value);
    match dtype {
        DType::F32 => put(&1f32.to_ne_bytes()),
        DType::F64 => put(&1f64.to_ne_bytes()),
        DType::F16 => put(&f16::ONE.to_ne_bytes()),
        DType::BF16 => put(&bf16::ONE.to_ne_bytes()),
        DType::I8 | DType::U8 | DType::Bool | DType::I4 | DType::U4 => put(&[1]),
        DType::I16 | DType::U16 => put(&1u16.to_ne_bytes()),
        DType::I32 | DType::U32 => put(&1u32.to_ne_bytes()),
        DType::I64 | DType::U64 => put(&1u64.to_ne_bytes()),
    }
    bytes
}

#[cfg(test)]
mod tests {
    use crate::ir::Attr;
    use crate::testing::{Model, Value};

    #[test]
    fn marks_the_chosen_diagonal() {
        let mut model = Model::new();
        model.input::<f32>("x", &[2, 3]).node("EyeLike", &["x"], &["y"], vec![("k", Attr::Int(1))]).output("y");
        let got = model.run(&[Value::new(&[2, 3], &[7f32; 6])]).unwrap();
        assert_eq!(got, [Value::new(&[2, 3], &[0f32, 1., 0., 0., 0., 1.])]);
    }
}
