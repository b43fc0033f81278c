use kernels::ops::epilogue::Epilogue;
use kernels::ops::matmul::{BatchShape, BatchedMatMul};
use kernels::tensor::{DType, Dims, elements, row_major_strides};

use super::linear::Linear;
use super::product::{self, Ending};
use super::{Decline, Lower, MICROSOFT, Op, OpRow, Work};
use crate::plan::{Bind, BindError};

pub const ROWS: &[OpRow] = &[
    OpRow {
        domain: "",
        name: "MatMul",
        versions: 1..=28,
        inputs: 2..=2,
        outputs: 1..=1,
        attrs: &[],
        work: Work::Heavy,
        lower,
    },
    OpRow {
        domain: MICROSOFT,
        name: "FusedMatMul",
        versions: 1..=1,
        inputs: 2..=2,
        outputs: 1..=1,
        attrs: &["alpha", "transA", "transB", "transBatchA", "transBatchB"],
        work: Work::Heavy,
        lower,
    },
];

/// A product of two tensors of any rank, both known at run time only.
struct MatMul {
    dtype: DType,
    alpha: f32,
    a: Form,
    b: Form,
}

/// How a tensor is read as a batch of matrices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Form {
    /// The last two axes are swapped.
    transposed: bool,
    /// The first axis is moved behind the axes of the batch.
    batch_transposed: bool,
}

fn lower(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let dtype = cx.float_input(0)?;
    cx.dtype_in(1, &[dtype])?;
    let alpha = cx.attr_float("alpha", 1.0)?;
    let form = |transposed, batch| -> Result<Form, Decline> {
        Ok(Form { transposed: cx.attr_bool(transposed, false)?, batch_transposed: cx.attr_bool(batch, false)? })
    };
    let (a, b) = (form("transA", "transBatchA")?, form("transB", "transBatchB")?);
    if let (Some(weight), false, false) = (product::constant_matrix(cx, 1), b.batch_transposed, a.batch_transposed)
        && (!a.transposed || cx.rank(0) == Some(2))
    {
        let weights = product::pack_float(cx, weight, b.transposed);
        let ending = Ending::default();
        let target = *cx.target();
        return Ok(Box::new(Linear { target, dtype, weights, a_transposed: a.transposed, alpha, ending }));
    }
    Ok(Box::new(MatMul { dtype, alpha, a, b }))
}

/// A tensor as a batch of matrices.
pub(super) struct Matrices {
    batch: Dims,
    batch_strides: Dims,
    pub rows: usize,
    pub columns: usize,
    strides: [usize; 2],
}

/// A batched product.
pub(super) struct Product {
    pub a: Matrices,
    pub b: Matrices,
    /// Shape of the output.
    pub out: Dims,
    /// First elements of both sides for each product of the batch.
    pub offsets: Vec<[usize; 2]>,
}

impl Product {
    /// The product of tensors of shapes `a_dims` and `b_dims`, by the rules of MatMul.
    pub fn new(a_dims: &[usize], b_dims: &[usize], forms: [Form; 2]) -> Result<Self, BindError> {
        let (mut a, b) = (forms[0].read(a_dims, true)?, forms[1].read(b_dims, false)?);
        let batch = broadcast_batch(&a.batch, &b.batch).filter(|_| a.columns == b.rows);
        let batch = batch
            .ok_or_else(|| BindError::new(format!("tensors of shapes {a_dims:?} and {b_dims:?} have no product")))?;
        let mut out = batch.clone();
        if a_dims.len() > 1 {
            out.push(a.rows);
        }
        if b_dims.len() > 1 {
            out.push(b.columns);
        }
        let shared = elements(&b.batch) == 1 && elements(&batch) == elements(&a.batch);
        let offsets = if shared && a.flatten() {
            vec![[0, 0]]
        } else {
            (0..elements(&batch)).map(|index| [a.offset(&batch, index), b.offset(&batch, index)]).collect()
        };
        Ok(Self { a, b, out, offsets })
    }
}

impl Form {
    /// Reads a tensor of shape `dims`; a vector is `[1, k]` on the left and `[k, 1]` on the right.
    fn read(self, dims: &[usize], left: bool) -> Result<Matrices, BindError> {
        let strides = row_major_strides(dims);
        let (batch, rows, columns) = match dims.len() {
            0 => return Err(BindError::new("a product cannot take a scalar")),
            1 => {
                let (rows, columns) = if left { (1, dims[0]) } else { (dims[0], 1) };
                let (batch, batch_strides) = (Dims::new(), Dims::new());
                return Ok(Matrices { batch, batch_strides, rows, columns, strides: [columns, 1] });
            }
            rank if self.batch_transposed && rank > 2 => (1..rank - 1, 0, rank - 1),
            rank => (0..rank - 2, rank - 2, rank - 1),
        };
        let (rows, columns) = if self.transposed { (columns, rows) } else { (rows, columns) };
        Ok(Matrices {
            batch: Dims::from_slice(&dims[batch.clone()]),
            batch_strides: Dims::from_slice(&strides[batch]),
            rows: dims[rows],
            columns: dims[columns],
            strides: [strides[rows], strides[columns]],
        })
    }
}

impl Matrices {
    /// First element of the matrix at `index` of a batch of shape `batch`, to which this one broadcasts; 0 for empty
    /// matrices, whose strides may lead out of the tensor.
    fn offset(&self, batch: &[usize], mut index: usize) -> usize {
        if self.rows * self.columns == 0 {
            return 0;
        }
        let mut offset = 0;
        for (axis, &size) in batch.iter().enumerate().rev() {
            let position = index % size;
            index /= size;
            if let Some(own) = (axis + self.batch.len()).checked_sub(batch.len()).filter(|&own| self.batch[own] != 1) {
                offset += position * self.batch_strides[own];
            }
        }
        offset
    }

    /// Makes one tall matrix of a dense batch, for a right-hand side that is the same for all.
    fn flatten(&mut self) -> bool {
        let dense = self.strides == [self.columns, 1]
            && self.batch_strides.last().is_none_or(|&s| s == self.rows.saturating_mul(self.columns));
        if dense {
            self.rows = self.rows.saturating_mul(elements(&self.batch));
        }
        dense
    }
}

/// The shape to which both batches broadcast.
fn broadcast_batch(a: &[usize], b: &[usize]) -> Option<Dims> {
    let rank = a.len().max(b.len());
    let at = |dims: &[usize], axis: usize| (axis + dims.len()).checked_sub(rank).map_or(1, |own| dims[own]);
    (0..rank)
        .map(|axis| match (at(a, axis), at(b, axis)) {
            (x, y) if x == y || y == 1 => Some(x),
            (1, y) => Some(y),
            _ => None,
        })
        .collect()
}

impl Op for MatMul {
    fn bind(&self, bind: &mut Bind<'_>) -> Result<(), BindError> {
        let Product { a, b, out, offsets } = Product::new(&bind.dims(0)?, &bind.dims(1)?, [self.a, self.b])?;
        let shape =
            BatchShape { m: a.rows, k: a.columns, n: b.columns, a_strides: a.strides, b_strides: b.strides, offsets };
        let inputs = [bind.input_f32(0)?, bind.input_f32(1)?];
        let y = bind.output_f32(0, self.dtype, &out)?;
        bind.step(BatchedMatMul::new(bind.target(), shape, self.alpha, Epilogue::NONE), &inputs, &[y]);
        Ok(())
    }
}

#[cfg(test)]
pub(in crate::ops) mod tests;
