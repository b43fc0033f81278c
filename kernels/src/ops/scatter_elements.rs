use std::fmt;

use super::gather_elements::AlongAxis;
use super::indices::Indices;
use super::number::{Number, with_number};
use super::walk::Walk;
use super::width::{grain, with_width};
use crate::driver::{Driver, RunError};
use crate::rt::Worker;
use crate::tape::Io;
use crate::tensor::{DType, Dims, Element};

/// What an update does to the element that is there. Integers wrap; minima and maxima of floats propagate NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    Replace,
    Add,
    Mul,
    Min,
    Max,
}

impl Reduction {
    /// # Panics
    /// For [`Reduction::Replace`], which has no arithmetic.
    pub(super) fn apply<T: Number>(self, element: &mut T, update: T) {
        *element = match self {
            Self::Replace => unreachable!("elements of any type are replaced without arithmetic"),
            Self::Add => element.add(update),
            Self::Mul => element.mul(update),
            Self::Min => element.minimum(update),
            Self::Max => element.maximum(update),
        };
    }
}

/// A copy of the data in which `out[i0, .., indices[i0, .., ik, ..], ..]` becomes `updates[i0, .., ik, ..]`, or takes it in by
/// a reduction.
///
/// Operands: data, indices, updates. Updates to one element follow each other in row-major order.
pub struct ScatterElements {
    dtype: DType,
    reduction: Reduction,
    index: DType,
    len: usize,
    dims: Dims,
    axis: AlongAxis,
}

impl ScatterElements {
    /// `dims` are those of indices and updates; `index` is `I32` or `I64`. Reductions work on f32 and the integers.
    ///
    /// # Panics
    /// When the ranks differ or `axis` is none of the axes.
    pub fn new(
        dtype: DType,
        reduction: Reduction,
        index: DType,
        data_dims: &[usize],
        dims: &[usize],
        axis: usize,
    ) -> Self {
        assert_eq!(data_dims.len(), dims.len());
        let len = data_dims.iter().product();
        Self { dtype, reduction, index, len, dims: Dims::from_slice(dims), axis: AlongAxis::new(data_dims, axis) }
    }

    fn scatter<T: Element>(&self, worker: &Worker<'_>, io: &Io<'_>, write: impl Fn(&mut T, T)) -> Result<(), RunError> {
        let output = io.output::<T>(0);
        let share = worker.share(self.len, grain(size_of::<T>()));
        // SAFETY: shares of ranks are disjoint.
        unsafe { output.range(share.clone()) }.copy_from_slice(&io.input::<T>(0)[share]);
        worker.barrier()?;
        let total: usize = self.dims.iter().product();
        if worker.rank() != 0 || total == 0 {
            return Ok(());
        }
        let (indices, updates) = (Indices::of(io, 1, self.index), io.input::<T>(2));
        // SAFETY: only rank 0 writes after the barrier.
        let out = unsafe { output.range(0..self.len) };
        let mut walk = Walk::new(&self.dims, &self.axis.others, 0, 0);
        for (position, &update) in updates[..total].iter().enumerate() {
            let to = walk.offset() + indices.resolve(position, self.axis.len)? * self.axis.stride;
            write(&mut out[to], update);
            walk.advance();
        }
        Ok(())
    }
}

impl fmt::Display for ScatterElements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { dtype, reduction, dims, axis, .. } = self;
        write!(f, "scatter_elements {dtype} {reduction:?} dims={dims:?} axis={}", axis.len)
    }
}

impl Driver for ScatterElements {
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        match self.reduction {
            Reduction::Replace => with_width!(self.dtype, T => self.scatter::<T>(worker, io, |y, x| *y = x)),
            op => with_number!(self.dtype, T => self.scatter::<T>(worker, io, |y, x| op.apply(y, x))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::run_one;

    #[test]
    fn writes_updates_over_a_copy() {
        let data: Vec<u32> = (0..12).collect();
        let (indices, updates) = ([2i64, -1, 0, 1], [100u32, 101, 102, 103]);
        for ranks in 1..=2 {
            let driver = ScatterElements::new(DType::F32, Reduction::Replace, DType::I64, &[3, 4], &[2, 2], 0);
            let inputs = [bytemuck::cast_slice(&data), bytemuck::cast_slice(&indices), bytemuck::cast_slice(&updates)];
            let got = run_one::<u32>(driver, ranks, &inputs, 12).unwrap();
            assert_eq!(got, [102, 1, 2, 3, 4, 103, 6, 7, 100, 101, 10, 11]);
        }
    }

    #[test]
    fn updates_to_one_element_are_reduced() {
        let (data, indices, updates) = ([2i32, 5, -1], [0i64, 0, -1], [3i32, 4, -7]);
        let inputs = [bytemuck::cast_slice(&data), bytemuck::cast_slice(&indices), bytemuck::cast_slice(&updates)];
        let cases = [
            (Reduction::Replace, [4, 5, -7]),
            (Reduction::Add, [9, 5, -8]),
            (Reduction::Mul, [24, 5, 7]),
            (Reduction::Min, [2, 5, -7]),
            (Reduction::Max, [4, 5, -1]),
        ];
        for (reduction, expected) in cases {
            let driver = ScatterElements::new(DType::I32, reduction, DType::I64, &[3], &[3], 0);
            assert_eq!(run_one::<i32>(driver, 2, &inputs, 3).unwrap(), expected, "{reduction:?}");
        }
    }

    #[test]
    fn an_index_out_of_bounds_is_an_error() {
        let driver = ScatterElements::new(DType::U8, Reduction::Replace, DType::I64, &[2, 2], &[1, 1], 1);
        let error = run_one::<u8>(driver, 2, &[&[0; 4], bytemuck::bytes_of(&2i64), &[1]], 4).unwrap_err();
        assert_eq!(error, RunError::Data("index 2 is out of bounds for an axis of 2 elements".into()));
    }
}
