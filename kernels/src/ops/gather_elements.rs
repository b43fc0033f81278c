use std::fmt;

use super::indices::Indices;
use super::walk::{Strides, Walk};
use super::width::{grain, with_width};
use crate::driver::{Driver, RunError};
use crate::rt::Worker;
use crate::tape::Io;
use crate::tensor::{DType, Dims, Element, row_major_strides};

/// `out[i0, .., ik, ..] = data[i0, .., indices[i0, .., ik, ..], ..]` with the index replaced on one axis.
///
/// Operands: data, indices. The output has the shape of the indices.
pub struct GatherElements {
    dtype: DType,
    index: DType,
    dims: Dims,
    axis: AlongAxis,
}

/// Where the other axes point into the data, and how to step along the chosen one.
pub(crate) struct AlongAxis {
    /// Row-major strides of the data, 0 on the chosen axis.
    pub others: Strides,
    pub stride: usize,
    pub len: usize,
}

impl AlongAxis {
    pub fn new(data_dims: &[usize], axis: usize) -> Self {
        let strides = row_major_strides(data_dims);
        let mut others: Strides = strides.iter().map(|&stride| stride as isize).collect();
        others[axis] = 0;
        Self { others, stride: strides[axis], len: data_dims[axis] }
    }
}

impl GatherElements {
    /// `dims` are those of the indices, of type `index` (`I32` or `I64`); on every axis but `axis` they may not exceed
    /// `data_dims`.
    ///
    /// # Panics
    /// When the ranks differ or `axis` is none of the axes.
    pub fn new(dtype: DType, index: DType, data_dims: &[usize], dims: &[usize], axis: usize) -> Self {
        assert_eq!(data_dims.len(), dims.len());
        Self { dtype, index, dims: Dims::from_slice(dims), axis: AlongAxis::new(data_dims, axis) }
    }

    fn gather<T: Element>(&self, worker: &Worker<'_>, io: &Io<'_>) -> Result<(), RunError> {
        let share = worker.share(self.dims.iter().product(), grain(size_of::<T>()));
        if share.is_empty() {
            return Ok(());
        }
        let (data, indices) = (io.input::<T>(0), Indices::of(io, 1, self.index));
        // SAFETY: shares of ranks are disjoint.
        let out = unsafe { io.output::<T>(0).range(share.clone()) };
        let mut walk = Walk::new(&self.dims, &self.axis.others, 0, share.start);
        for (y, position) in out.iter_mut().zip(share) {
            *y = data[walk.offset() + indices.resolve(position, self.axis.len)? * self.axis.stride];
            walk.advance();
        }
        Ok(())
    }
}

impl fmt::Display for GatherElements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "gather_elements {} dims={:?} axis={}", self.dtype, self.dims, self.axis.len)
    }
}

impl Driver for GatherElements {
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        with_width!(self.dtype, T => self.gather::<T>(worker, io))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::run_one;

    #[test]
    fn replaces_the_index_on_one_axis() {
        let data_dims = [3, 4, 5];
        let data: Vec<u32> = (100..160).collect();
        for (axis, dims) in [(0, [6, 4, 5]), (1, [3, 2, 4]), (2, [2, 4, 9]), (1, [3, 0, 5])] {
            let total: usize = dims.iter().product();
            let len = data_dims[axis] as i32;
            let indices: Vec<i32> = (0..total as i32).map(|i| i * 5 % (2 * len) - len).collect();
            let want: Vec<u32> = (0..total)
                .map(|position| {
                    let mut at = [position / (dims[1] * dims[2]), position / dims[2] % dims[1], position % dims[2]];
                    at[axis] = indices[position].rem_euclid(len) as usize;
                    data[(at[0] * 4 + at[1]) * 5 + at[2]]
                })
                .collect();
            let inputs = [bytemuck::cast_slice(&data), bytemuck::cast_slice(&indices)];
            let driver = GatherElements::new(DType::F32, DType::I32, &data_dims, &dims, axis);
            assert_eq!(run_one::<u32>(driver, 2, &inputs, total).unwrap(), want);
        }
    }

    #[test]
    fn an_index_out_of_bounds_is_an_error() {
        let driver = GatherElements::new(DType::U8, DType::I64, &[2, 2], &[1, 1], 0);
        let error = run_one::<u8>(driver, 1, &[&[0; 4], bytemuck::bytes_of(&-3i64)], 1).unwrap_err();
        assert_eq!(error, RunError::Data("index -3 is out of bounds for an axis of 2 elements".into()));
    }
}
