use kernels::ops::epilogue::{Activation, Position};
use kernels::ops::matmul::{BatchShape, BatchedMatMul};
use kernels::tensor::DType;

use super::linear::Linear;
use super::product::{self, Ending, ResidualInput};
use super::{Code, Decline, Lower, Op, OpRow, Work};
use crate::plan::{Bind, BindError};

pub const ROWS: &[OpRow] = &[OpRow {
    domain: "",
    name: "Gemm",
    versions: 7..=28,
    inputs: 2..=3,
    outputs: 1..=1,
    attrs: &["alpha", "beta", "transA", "transB"],
    work: Work::Heavy,
    lower,
}];

/// `alpha * A' x B' + beta * C` with a right-hand side known at run time only.
struct Gemm {
    dtype: DType,
    alpha: f32,
    transposed: [bool; 2],
    ending: Ending,
}

fn lower(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let dtype = cx.float_input(0)?;
    cx.dtype_in(1, &[dtype])?;
    if let Some(index) = (0..2).find(|&index| cx.rank(index).is_some_and(|rank| rank != 2)) {
        return Err(Decline::new(Code::Rank, format!("input {index} is not a matrix")));
    }
    let beta = cx.attr_float("beta", 1.0)?;
    let mut ending = Ending::default();
    if cx.has_input(2) {
        cx.dtype_in(2, &[dtype])?;
        if beta != 0.0 {
            let c = ResidualInput { input: 2, position: Position::BeforeActivation, factor: beta };
            ending = Ending { bias: None, activation: Activation::Identity, residual: Some(c) };
        }
    }
    let alpha = cx.attr_float("alpha", 1.0)?;
    let transposed = [cx.attr_bool("transA", false)?, cx.attr_bool("transB", false)?];
    // A left-hand side of unknown rank could be anything that a linear layer takes.
    if let (Some(b), Some(2)) = (product::constant_matrix(cx, 1), cx.rank(0)) {
        let weights = product::pack_float(cx, b, transposed[1]);
        let target = *cx.target();
        return Ok(Box::new(Linear { target, dtype, weights, a_transposed: transposed[0], alpha, ending }));
    }
    Ok(Box::new(Gemm { dtype, alpha, transposed, ending }))
}

impl Op for Gemm {
    fn bind(&self, bind: &mut Bind<'_>) -> Result<(), BindError> {
        let (a, b) = (matrix(&bind.dims(0)?, self.transposed[0])?, matrix(&bind.dims(1)?, self.transposed[1])?);
        let (([m, k], a_strides), ([depth, n], b_strides)) = (a, b);
        if k != depth {
            return Err(BindError::new(format!("matrices of {m} x {k} and {depth} x {n} have no product")));
        }
        let (epilogue, operands) = self.ending.bind(bind, &[m, n])?;
        let mut inputs = vec![bind.input_f32(0)?, bind.input_f32(1)?];
        inputs.extend(operands);
        let y = bind.output_f32(0, self.dtype, &[m, n])?;
        let shape = BatchShape { m, k, n, a_strides, b_strides, offsets: vec![[0, 0]] };
        bind.step(BatchedMatMul::new(bind.target(), shape, self.alpha, epilogue), &inputs, &[y]);
        Ok(())
    }
}

/// Shape and strides of an operand as it is multiplied.
fn matrix(dims: &[usize], transposed: bool) -> Result<([usize; 2], [usize; 2]), BindError> {
    match (dims, transposed) {
        (&[rows, columns], false) => Ok(([rows, columns], [columns, 1])),
        (&[columns, rows], true) => Ok(([rows, columns], [1, rows])),
        _ => Err(BindError::new(format!("an operand of shape {dims:?} is not a matrix"))),
    }
}

#[cfg(test)]
mod tests;
