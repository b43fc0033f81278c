use kernels::ops::strided_copy::StridedCopy;
use kernels::tensor::{DType, elements, row_major_strides};

use super::axes::{self, IntList};
use super::{Decline, Lower, Op, OpRow, Work};
use crate::plan::{Bind, BindError};

pub const ROWS: &[OpRow] = &[OpRow {
    domain: "",
    name: "Slice",
    versions: 1..=28,
    inputs: 1..=5,
    outputs: 1..=1,
    attrs: &["starts", "ends", "axes"],
    work: Work::Glue,
    lower,
}];

struct Slice {
    dtype: DType,
    starts: IntList,
    ends: IntList,
    axes: IntList,
    steps: IntList,
}

fn lower(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    Ok(Box::new(Slice {
        dtype: cx.dtype(0)?,
        starts: IntList::lower(cx, "starts", 1, 10)?.required("starts")?,
        ends: IntList::lower(cx, "ends", 2, 10)?.required("ends")?,
        axes: IntList::lower(cx, "axes", 3, 10)?,
        steps: IntList::lower(cx, "steps", 4, 10)?,
    }))
}

impl Op for Slice {
    fn shape_inputs(&self) -> &[usize] {
        &[1, 2, 3, 4]
    }

    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let (starts, ends) = (self.starts.get(b)?.unwrap_or_default(), self.ends.get(b)?.unwrap_or_default());
        let count = starts.len();
        let axes = self.axes.get(b)?.unwrap_or_else(|| (0..count as i64).collect());
        let steps = self.steps.get(b)?.unwrap_or_else(|| vec![1; count]);
        if [ends.len(), axes.len(), steps.len()] != [count; 3] {
            return Err(BindError::new("starts, ends, axes and steps differ in length"));
        }
        let mut dims = b.dims(0)?;
        let whole = dims.clone();
        let mut strides: Vec<isize> = row_major_strides(&dims).iter().map(|&stride| stride as isize).collect();
        let mut first = 0;
        for (i, axis) in axes::resolve_all(&axes, dims.len())?.into_iter().enumerate() {
            let (start, len) = cut(dims[axis], starts[i], ends[i], steps[i])?;
            first = start.saturating_mul(strides[axis] as usize).saturating_add(first);
            strides[axis] = strides[axis].saturating_mul(isize::try_from(steps[i]).unwrap_or(isize::MAX));
            dims[axis] = len;
        }
        if dims == whole && steps.iter().all(|&step| step > 0) {
            return b.alias(0, 0, &dims);
        }
        let (x, y) = (b.input(0)?, b.output(0, self.dtype, &dims)?);
        if elements(&dims) != 0 {
            b.step(StridedCopy::new(self.dtype, &dims, &strides, first), &[x], &[y]);
        }
        Ok(())
    }
}

/// First index and number of indices of `start..end` by `step` on an axis of `len`.
fn cut(len: usize, start: i64, end: i64, step: i64) -> Result<(usize, usize), BindError> {
    if step == 0 {
        return Err(BindError::new("a step of a slice is 0"));
    }
    let size = i64::try_from(len).map_err(|_| BindError::new("a dimension is too large"))?;
    if size == 0 {
        return Ok((0, 0));
    }
    let from_end = |index: i64| if index < 0 { index.saturating_add(size) } else { index };
    let (start, distance) = if step > 0 {
        let (start, end) = (from_end(start).clamp(0, size), from_end(end).clamp(0, size));
        (start, end - start)
    } else {
        let (start, end) = (from_end(start).clamp(0, size - 1), from_end(end).clamp(-1, size - 1));
        (start, start - end)
    };
    let count = if distance <= 0 { 0 } else { (distance as u64).div_ceil(step.unsigned_abs()) };
    Ok((start as usize, count as usize))
}

#[cfg(test)]
mod tests;
