//! Operators that pass a tensor through.

use super::{Decline, Lower, Op, OpRow, Work};
use crate::plan::{Bind, BindError};

pub const ROWS: &[OpRow] = &[OpRow {
    domain: "",
    name: "Identity",
    versions: 1..=25,
    inputs: 1..=1,
    outputs: 1..=1,
    attrs: &[],
    work: Work::Glue,
    lower,
}];

struct Identity;

fn lower(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    cx.dtype(0)?;
    Ok(Box::new(Identity))
}

impl Op for Identity {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let dims = b.dims(0)?;
        b.alias(0, 0, &dims)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Model, Value};

    #[test]
    fn passes_its_input_through() {
        let mut model = Model::new();
        model.input::<i64>("x", &[3]).node("Identity", &["x"], &["y"], vec![]).output("y");
        let x = Value::new(&[3], &[1i64, -2, 3]);
        assert_eq!(model.run(&[x.clone()]).unwrap(), [x]);
    }
}
