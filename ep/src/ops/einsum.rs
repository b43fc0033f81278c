//! Sums of products that an equation describes. Operands are views of buffers with a label for each axis; two of them are
//! contracted by one matrix product, and the order of the axes is put right at the end.

mod equation;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use kernels::isa::Target;
use kernels::ops::epilogue::Epilogue;
use kernels::ops::matmul::{BatchShape, BatchedMatMul};
use kernels::ops::reduce::{Reduce, ReduceOp};
use kernels::ops::strided_copy::StridedCopy;
use kernels::tensor::{DType, Dims, checked_elements, row_major_strides};

use self::equation::{Equation, Label};
use super::{Decline, Lower, Op, OpRow, Work};
use crate::plan::{Bind, BindError, Buf};

pub const ROWS: &[OpRow] = &[OpRow {
    domain: "",
    name: "Einsum",
    versions: 12..=28,
    inputs: 1..=usize::MAX,
    outputs: 1..=1,
    attrs: &["equation"],
    work: Work::Heavy,
    lower,
}];

struct Einsum {
    target: Target,
    dtype: DType,
    equation: Equation,
}

fn lower(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let dtype = cx.float_input(0)?;
    (1..cx.inputs()).try_for_each(|index| cx.dtype_in(index, &[dtype]).map(|_| ()))?;
    let equation = Equation::parse(cx.attr_str("equation", "")?, cx.inputs())?;
    Ok(Box::new(Einsum { target: *cx.target(), dtype, equation }))
}

/// Elements of a buffer: along the axis of `labels[i]`, neighbours are `strides[i]` apart.
struct View {
    buf: Buf,
    labels: Vec<Label>,
    strides: Vec<usize>,
}

impl Op for Einsum {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let shapes = (0..self.equation.terms()).map(|index| b.dims(index)).collect::<Result<Vec<_>, _>>()?;
        let (terms, output) = self.equation.expand(&shapes)?;
        let mut sizes = HashMap::new();
        for (&label, &dim) in terms.iter().zip(&shapes).flat_map(|(term, dims)| term.iter().zip(dims)) {
            let size = sizes.entry(label).or_insert(1);
            if *size != 1 && dim != 1 && *size != dim {
                return Err(BindError::new(format!("axes of one label have the sizes {size} and {dim}")));
            }
            *size = if *size == 1 { dim } else { *size };
        }
        let mut sums = Sums { target: self.target, b, sizes };
        let dims = sums.dims(&output);
        let y = sums.b.output_f32(0, self.dtype, &dims)?;
        if dims.contains(&0) {
            return Ok(());
        }
        let needed = |from: usize| terms[from..].iter().flatten().chain(&output).copied().collect::<Vec<Label>>();
        let mut result = sums.view(0, &terms[0], &shapes[0])?;
        for index in 1..terms.len() {
            let next = sums.view(index, &terms[index], &shapes[index])?;
            let last = index + 1 == terms.len();
            result = sums.contract(result, next, &needed(index + 1), last.then_some((output.as_slice(), y)))?;
        }
        let result = sums.reduce(result, &output)?;
        if result.buf != y {
            sums.copy(&result, &output, y);
        }
        Ok(())
    }
}

/// The steps under construction, and the size of each label's axis.
struct Sums<'a, 'p> {
    target: Target,
    b: &'a mut Bind<'p>,
    sizes: HashMap<Label, usize>,
}

impl Sums<'_, '_> {
    fn dims(&self, labels: &[Label]) -> Dims {
        labels.iter().map(|label| self.sizes[label]).collect()
    }

    fn elements(&self, labels: &[Label]) -> Result<usize, BindError> {
        let dims = self.dims(labels);
        checked_elements(&dims).ok_or_else(|| BindError::new(format!("sums of shape {dims:?} do not fit into memory")))
    }

    /// Input `index`. A label that comes twice is a diagonal; an axis of one element is repeated.
    fn view(&mut self, index: usize, term: &[Label], dims: &[usize]) -> Result<View, BindError> {
        let mut view = View { buf: self.b.input_f32(index)?, labels: Vec::new(), strides: Vec::new() };
        for ((&label, &dim), &stride) in term.iter().zip(dims).zip(&row_major_strides(dims)) {
            let stride = if dim == 1 { 0 } else { stride };
            match view.labels.iter().position(|&other| other == label) {
                Some(axis) => view.strides[axis] += stride,
                None => {
                    view.labels.push(label);
                    view.strides.push(stride);
                }
            }
        }
        Ok(view)
    }

    /// Writes `view` to `to` with the axes of `order`, which are all its own.
    fn copy(&mut self, view: &View, order: &[Label], to: Buf) {
        let strides: Vec<isize> = order.iter().map(|&label| view.stride(label) as isize).collect();
        let dims = self.dims(order);
        self.b.step(StridedCopy::new(DType::F32, &dims, &strides, 0), &[view.buf], &[to]);
    }

    /// The same elements in row-major order of `order`.
    fn dense(&mut self, view: View, order: &[Label]) -> Result<View, BindError> {
        let buf = self.b.temp(DType::F32, self.elements(order)?)?;
        self.copy(&view, order, buf);
        Ok(View { buf, labels: order.to_vec(), strides: row_major_strides(&self.dims(order)).to_vec() })
    }

    /// Sums `view` over all labels that are not in `kept`.
    fn reduce(&mut self, view: View, kept: &[Label]) -> Result<View, BindError> {
        let (kept, summed): (Vec<Label>, Vec<Label>) = view.labels.iter().partition(|label| kept.contains(label));
        if summed.is_empty() {
            return Ok(view);
        }
        let order = [kept.as_slice(), &summed].concat();
        let dense = self.dense(view, &order)?;
        let along: Vec<bool> = (0..order.len()).map(|axis| axis >= kept.len()).collect();
        let buf = self.b.temp(DType::F32, self.elements(&kept)?)?;
        self.b.step(Reduce::new(ReduceOp::Sum, DType::F32, &self.dims(&order), &along), &[dense.buf], &[buf]);
        let strides = row_major_strides(&self.dims(&kept)).to_vec();
        Ok(View { buf, labels: kept, strides })
    }

    /// The product of two views, summed over all labels that are not in `kept`; in the buffer of `target` when it comes out in
    /// that order.
    fn contract(
        &mut self,
        a: View,
        b: View,
        kept: &[Label],
        target: Option<(&[Label], Buf)>,
    ) -> Result<View, BindError> {
        let with = |other: &View| kept.iter().chain(&other.labels).copied().collect::<Vec<_>>();
        let (a_kept, b_kept) = (with(&b), with(&a));
        let (a, b) = (self.reduce(a, &a_kept)?, self.reduce(b, &b_kept)?);
        let (shared, rows): (Vec<Label>, Vec<Label>) = a.labels.iter().partition(|label| b.labels.contains(label));
        let (batch, depth): (Vec<Label>, Vec<Label>) = shared.iter().partition(|label| kept.contains(label));
        let columns: Vec<Label> = b.labels.iter().filter(|label| !a.labels.contains(label)).copied().collect();
        let (a, a_strides) = self.matrices(a, &batch, [&rows, &depth])?;
        let (b, b_strides) = self.matrices(b, &batch, [&depth, &columns])?;
        let (m, k, n) = (self.elements(&rows)?, self.elements(&depth)?, self.elements(&columns)?);
        let count = self.elements(&batch)?;
        let offset = |sums: &Self, view: &View, mut index: usize| {
            let mut offset = 0;
            for label in batch.iter().rev() {
                offset += index % sums.sizes[label] * view.stride(*label);
                index /= sums.sizes[label];
            }
            offset
        };
        let empty = m * k * n == 0;
        let offsets =
            (0..count).map(|i| if empty { [0, 0] } else { [offset(self, &a, i), offset(self, &b, i)] }).collect();
        let labels = [batch, rows, columns].concat();
        let buf = match target {
            Some((order, buf)) if order == labels.as_slice() => buf,
            _ => self.b.temp(DType::F32, self.elements(&labels)?)?,
        };
        let shape = BatchShape { m, k, n, a_strides, b_strides, offsets };
        self.b.step(BatchedMatMul::new(&self.target, shape, 1.0, Epilogue::NONE), &[a.buf, b.buf], &[buf]);
        let strides = row_major_strides(&self.dims(&labels)).to_vec();
        Ok(View { buf, labels, strides })
    }

    /// `view` as a batch of matrices and their strides, copied when strides alone do not make them.
    fn matrices(&mut self, view: View, batch: &[Label], axes: [&[Label]; 2]) -> Result<(View, [usize; 2]), BindError> {
        if let [Some(rows), Some(columns)] = axes.map(|labels| self.merged(&view, labels)) {
            return Ok((view, [rows, columns]));
        }
        let dense = self.dense(view, &[batch, axes[0], axes[1]].concat())?;
        let columns = self.elements(axes[1])?;
        Ok((dense, [columns, 1]))
    }

    /// The stride that goes through the axes of `labels` as through one, if there is such.
    fn merged(&self, view: &View, labels: &[Label]) -> Option<usize> {
        let mut stride = labels.last().map_or(1, |&label| view.stride(label));
        let last = stride;
        for pair in labels.windows(2).rev() {
            stride *= self.sizes[&pair[1]];
            if view.stride(pair[0]) != stride {
                return None;
            }
        }
        Some(last)
    }
}

impl View {
    fn stride(&self, label: Label) -> usize {
        self.labels.iter().position(|&own| own == label).map_or(0, |axis| self.strides[axis])
    }
}
