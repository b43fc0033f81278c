//! Operators that pass a tensor through.

use kernels::ops::fill::Fill;
use kernels::tensor::{DType, elements};

use super::{Code, Decline, Lower, Op, OpRow, Work};
use crate::plan::{Bind, BindError};

pub const ROWS: &[OpRow] = &[
    OpRow {
        domain: "",
        name: "Dropout",
        versions: 7..=28,
        inputs: 1..=3,
        outputs: 1..=2,
        attrs: &["ratio", "seed"],
        work: Work::Glue,
        lower: dropout,
    },
    OpRow {
        domain: "",
        name: "Identity",
        versions: 1..=28,
        inputs: 1..=1,
        outputs: 1..=1,
        attrs: &[],
        work: Work::Glue,
        lower: identity,
    },
];

/// Output 0 is input 0; output 1, where somebody reads it, is true everywhere.
struct Identity;

fn identity(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    cx.dtype(0)?;
    Ok(Box::new(Identity))
}

/// Dropout outside of training.
fn dropout(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    if cx.has_input(2) && cx.constant(2).is_none_or(|training| training.bytes() != [0]) {
        return Err(Decline::new(Code::Constant, "'training_mode' is not known to be false"));
    }
    if cx.has_output(1) && cx.version() < 10 {
        return Err(Decline::new(Code::Version, "the mask is a bool only since version 10"));
    }
    identity(cx)
}

impl Op for Identity {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let dims = b.dims(0)?;
        if b.has_output(1) {
            let mask = b.output(1, DType::Bool, &dims)?;
            let all = Fill { dtype: DType::Bool, len: elements(&dims), value: [1, 0, 0, 0, 0, 0, 0, 0] };
            b.step(all, &[], &[mask]);
        }
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
        assert_eq!(model.run(std::slice::from_ref(&x)).unwrap(), [x]);
    }

    #[test]
    fn dropout_keeps_everything() {
        let x = Value::new(&[2, 2], &[1f32, 2.0, 3.0, 4.0]);
        let mut model = Model::new();
        model.input::<f32>("x", &[2, 2]).constant("ratio", &[], &[0.5f32]);
        model.node("Dropout", &["x", "ratio"], &["y", "mask"], vec![]).output("y").output("mask");
        assert_eq!(
            model.run(std::slice::from_ref(&x)).unwrap(),
            [x.clone(), Value::new(&[2, 2], &[1u8; 4]).into_bool()]
        );
        let mut model = Model::new();
        model.input::<f32>("x", &[2, 2]).input::<u8>("training", &[]);
        model.node("Dropout", &["x", "", "training"], &["y"], vec![]).output("y");
        let error = model.run(&[x, Value::new(&[], &[0u8])]).unwrap_err();
        assert!(error.to_string().contains("training_mode"), "{error}");
    }
}
