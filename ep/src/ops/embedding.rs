//! Scaled rows of a table as fusion rules make it: domain `spacemit`, `Embedding`, since version 1.
//!
//! `Y[i.., :] = scale * table[ids[i..], :]`, rounded once to the type of the table.
//!
//! | # | input | shape | remark |
//! |---|-------|-------|--------|
//! | 0 | table | `[rows, ...]` | constant; f32 or f16; kept scaled |
//! | 1 | ids   | any   | i32 or i64; from `-rows` on, negative ones count from the end |
//!
//! Output `Y`: the dimensions of `ids`, then those of a row; type of the table. Attribute `scale`: float, 1 by default.

use std::sync::Arc;

use half::f16;
use kernels::mem::AlignedBuf;
use kernels::ops::gather::Gather;
use kernels::tensor::{DType, Dims, elements};

use super::{Code, Decline, FUSED, Lower, Op, OpRow, Work};
use crate::ir::Tensor;
use crate::plan::{Bind, BindError};

pub const ROWS: &[OpRow] = &[OpRow {
    domain: FUSED,
    name: "Embedding",
    versions: 1..=1,
    inputs: 2..=2,
    outputs: 1..=1,
    attrs: &["scale"],
    work: Work::Glue,
    lower,
}];

struct Embedding {
    dtype: DType,
    index: DType,
    dims: Dims,
    /// Scaled, of the table's type.
    table: Arc<AlignedBuf>,
}

fn lower(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let (dtype, index) = (cx.float_input(0)?, cx.dtype_in(1, &[DType::I32, DType::I64])?);
    let constant = || Decline::new(Code::Constant, "the table is not constant");
    let table = cx.constant(0).filter(|table| !table.dims.is_empty()).ok_or_else(constant)?;
    let scale = cx.attr_float("scale", 1.0)?;
    let bytes = table.elements() * dtype.size();
    let scaled = cx.packed(
        &[table],
        &format!("times {}", scale.to_bits()),
        || AlignedBuf::zeroed(bytes),
        || scaled(table, scale).sealed(),
    );
    Ok(Box::new(Embedding { dtype, index, dims: table.dims.clone(), table: scaled }))
}

/// The floats of `table` times `scale`.
fn scaled(table: &Tensor<'_>, scale: f32) -> AlignedBuf {
    let values = table.to_f32s().unwrap_or_default().into_iter().map(|value| value * scale);
    match table.dtype {
        DType::F16 => AlignedBuf::copy_of(bytemuck::cast_slice(&values.map(f16::from_f32).collect::<Vec<_>>())),
        _ => AlignedBuf::copy_of(bytemuck::cast_slice(&values.collect::<Vec<_>>())),
    }
}

impl Op for Embedding {
    fn absorbed_inputs(&self) -> &[usize] {
        &[0]
    }

    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let (&rows, row) = self.dims.split_first().ok_or_else(|| BindError::new("the table has no dimension"))?;
        let ids = b.dims(1)?;
        let out: Dims = ids.iter().chain(row).copied().collect();
        let (inner, count) = (elements(row), elements(&ids));
        let driver = Gather { dtype: self.dtype, index: self.index, outer: 1, axis: rows, inner, count };
        let (table, ids) = (b.constant(Arc::clone(&self.table)), b.input(1)?);
        let y = b.output(0, self.dtype, &out)?;
        if inner * count != 0 {
            b.step(driver, &[table, ids], &[y]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use half::f16;

    use crate::ir::Attr;
    use crate::testing::{Model, Value};

    fn run(model: &mut Model, ids: &[i64]) -> Result<Value, crate::Error> {
        model.input::<i64>("ids", &[ids.len(), 1]).domain("spacemit").version(1);
        model.node("Embedding", &["table", "ids"], &["y"], vec![("scale", Attr::Float(0.3))]).output("y");
        Ok(model.run(&[Value::new(&[ids.len(), 1], ids)])?.remove(0))
    }

    #[test]
    fn rows_are_scaled_in_the_type_of_the_table() {
        let table = [1f32, 2.0, 3.0, 4.0, 5.5, 7.0];
        let picked = [5.5f32, 7.0, 1.0, 2.0, 5.5, 7.0];
        let y = run(Model::new().constant("table", &[3, 2], &table), &[2, 0, -1]).unwrap();
        assert_eq!(y, Value::new(&[3, 1, 2], &picked.map(|x| x * 0.3)));
        let halves = table.map(f16::from_f32);
        let y = run(Model::new().constant("table", &[3, 2], &halves), &[2, 0, -1]).unwrap();
        assert_eq!(y, Value::new(&[3, 1, 2], &picked.map(|x| f16::from_f32(x * 0.3))));
    }

    #[test]
    fn no_ids_give_nothing_and_wrong_ones_an_error() {
        let y = run(Model::new().constant("table", &[3, 2], &[1f32; 6]), &[]).unwrap();
        assert_eq!(y, Value::new::<f32>(&[0, 1, 2], &[]));
        let error = run(Model::new().constant("table", &[3, 2], &[1f32; 6]), &[3]).unwrap_err().to_string();
        assert!(error.contains("index 3 is out of bounds"), "{error}");
        let error = run(Model::new().input::<f32>("table", &[3, 2]), &[0]).unwrap_err().to_string();
        assert!(error.contains("declined, constant"), "{error}");
    }
}
