//! `GemmaRotaryEmbedding`: queries and keys turned by angles, where the turned halves are inputs.
//!
//! `output1 = q * cos(emb) + q_rot * sin(emb)`, and likewise `output2` of `k` and `k_rot`. `emb` is f32 `[batch, sequence,
//! size]`, all others are f16 `[batch, heads, sequence, size]`; keys may have other heads than queries.

use kernels::ops::arithmetic::{Arithmetic, ArithmeticOp};
use kernels::ops::unary::{Unary, UnaryOp};
use kernels::tensor::{DType, elements};

use super::{Decline, Lower, MICROSOFT, Op, OpRow, Work};
use crate::plan::{Bind, BindError, Buf};

pub const ROWS: &[OpRow] = &[OpRow {
    domain: MICROSOFT,
    name: "GemmaRotaryEmbedding",
    versions: 1..=1,
    inputs: 5..=5,
    outputs: 1..=2,
    attrs: &[],
    work: Work::Light,
    lower,
}];

struct GemmaRotary;

fn lower(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    cx.dtype_in(0, &[DType::F32])?;
    for index in 1..5 {
        cx.dtype_in(index, &[DType::F16])?;
    }
    Ok(Box::new(GemmaRotary))
}

impl Op for GemmaRotary {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let (dims, angles) = (b.dims(0)?, b.input_f32(0)?);
        let len = elements(&dims);
        let mut waves = [angles; 2];
        for (wave, function) in waves.iter_mut().zip([UnaryOp::Cos, UnaryOp::Sin]) {
            *wave = b.temp(DType::F32, len)?;
            b.step(Unary::new(function, len), &[angles], &[*wave]);
        }
        turn(b, 0, &dims, waves)?;
        if b.has_output(1) {
            turn(b, 1, &dims, waves)?;
        }
        Ok(())
    }
}

/// Output `output`, of the two inputs that belong to it.
fn turn(b: &mut Bind<'_>, output: usize, angles: &[usize], waves: [Buf; 2]) -> Result<(), BindError> {
    let (x, turned) = (1 + 2 * output, 2 + 2 * output);
    let dims = b.dims(x)?;
    let fits = matches!(dims[..], [batch, _, sequence, size] if angles == [batch, sequence, size]);
    if !fits || b.dims(turned)? != dims {
        let dims = dims.as_slice();
        return Err(BindError::new(format!("inputs {x} and {turned} of shape {dims:?} do not fit angles {angles:?}")));
    }
    let spread = [dims[0], 1, dims[2], dims[3]];
    let mut terms = waves;
    for (term, (input, wave)) in terms.iter_mut().zip([x, turned].into_iter().zip(waves)) {
        let operand = b.input_f32(input)?;
        *term = b.temp(DType::F32, elements(&dims))?;
        b.step(Arithmetic::new(ArithmeticOp::Mul, DType::F32, &dims, &spread), &[operand, wave], &[*term]);
    }
    let y = b.output_f32(output, DType::F16, &dims)?;
    b.step(Arithmetic::new(ArithmeticOp::Add, DType::F32, &dims, &dims), &terms, &[y]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use half::f16;

    use crate::ops::MICROSOFT;
    use crate::testing::{Model, Value};

    const NAMES: [&str; 5] = ["emb", "q", "q_rot", "k", "k_rot"];

    fn halves(dims: &[usize], seed: usize) -> Value {
        let len = dims.iter().product();
        let values: Vec<f16> = (0..len).map(|i| f16::from_f32(((i * 7 + seed * 5) % 23) as f32 / 8.0 - 1.0)).collect();
        Value::new(dims, &values)
    }

    fn run(inputs: &[Value; 5]) -> Result<Vec<Value>, crate::Error> {
        let mut model = Model::new();
        model.version(1).domain(MICROSOFT).input::<f32>("emb", &inputs[0].dims);
        for (name, value) in NAMES.iter().zip(inputs).skip(1) {
            model.input::<f16>(name, &value.dims);
        }
        let dtype = inputs[1].dtype;
        model.typed_only("y1", dtype).typed_only("y2", dtype);
        model.node("GemmaRotaryEmbedding", &NAMES, &["y1", "y2"], vec![]).output("y1").output("y2");
        model.run(inputs)
    }

    #[test]
    fn queries_and_keys_turn_by_the_angles_of_their_token() {
        let (batch, sequence, size) = (2, 3, 4);
        let angles: Vec<f32> = (0..batch * sequence * size).map(|i| i as f32 * 0.37 - 3.0).collect();
        let shape = |heads| [batch, heads, sequence, size];
        let emb = Value::new(&[batch, sequence, size], &angles);
        let inputs = [emb, halves(&shape(3), 1), halves(&shape(3), 2), halves(&shape(2), 3), halves(&shape(2), 4)];
        for (index, y) in run(&inputs).unwrap().iter().enumerate() {
            let (x, turned) = (&inputs[1 + 2 * index], &inputs[2 + 2 * index]);
            assert_eq!(y.dims, x.dims);
            let heads = x.dims[1];
            let terms = x.values::<f16>().iter().zip(turned.values::<f16>());
            for (at, ((x, turned), y)) in terms.zip(y.values::<f16>()).enumerate() {
                let (token, column) = (at / size % sequence, at % size);
                let angle = f64::from(angles[(at / (heads * sequence * size) * sequence + token) * size + column]);
                let want = x.to_f64() * angle.cos() + turned.to_f64() * angle.sin();
                // Half a unit in the last place of the result, and the rounding of f32 before.
                let bound = want.abs() * f64::from(f16::EPSILON) / 2.0 + 1e-6;
                assert!((y.to_f64() - want).abs() <= bound, "{at}: {y} instead of {want}");
            }
        }
    }

    #[test]
    fn shapes_that_do_not_fit_are_an_error() {
        let emb = Value::new(&[1, 2, 4], &[0f32; 8]);
        let [q, wrong] = [halves(&[1, 2, 2, 4], 1), halves(&[1, 2, 1, 4], 1)];
        let with = |q_rot: &Value, k: &Value| run(&[emb.clone(), q.clone(), q_rot.clone(), k.clone(), k.clone()]);
        assert!(with(&q, &q).is_ok());
        assert!(with(&wrong, &q).is_err());
        assert!(with(&q, &wrong).is_err());
    }
}
