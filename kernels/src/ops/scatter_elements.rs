use std::fmt;

use super::gather_elements::AlongAxis;
use super::indices::Indices;
use super::walk::Walk;
use super::width::{grain, with_width};
use crate::driver::{Driver, RunError};
use crate::rt::Worker;
use crate::tape::Io;
use crate::tensor::{DType, Dims, Element};

/// A copy of the data in which `out[i0, .., indices[i0, .., ik, ..], ..] = updates[i0, .., ik, ..]`.
///
/// Operands: data, indices, updates. Of updates to one element, the last in row-major order stays.
pub struct ScatterElements {
    dtype: DType,
    index: DType,
    len: usize,
    dims: Dims,
    axis: AlongAxis,
}

impl ScatterElements {
    /// `dims` are those of indices and updates; `index` is `I32` or `I64`.
    ///
    /// # Panics
    /// When the ranks differ or `axis` is none of the axes.
    pub fn new(dtype: DType, index: DType, data_dims: &[usize], dims: &[usize], axis: usize) -> Self {
        assert_eq!(data_dims.len(), dims.len());
        let len = data_dims.iter().product();
        Self { dtype, index, len, dims: Dims::from_slice(dims), axis: AlongAxis::new(data_dims, axis) }
    }

    fn scatter<T: Element>(&self, worker: &Worker<'_>, io: &Io<'_>) -> Result<(), RunError> {
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
            out[walk.offset() + indices.resolve(position, self.axis.len)? * self.axis.stride] = update;
            walk.advance();
        }
        Ok(())
    }
}

impl fmt::Display for ScatterElements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "scatter_elements {} dims={:?} axis={}", self.dtype, self.dims, self.axis.len)
    }
}

impl Driver for ScatterElements {
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        with_width!(self.dtype, T => self.scatter::<T>(worker, io))
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
            let driver = ScatterElements::new(DType::F32, DType::I64, &[3, 4], &[2, 2], 0);
            let inputs = [bytemuck::cast_slice(&data), bytemuck::cast_slice(&indices), bytemuck::cast_slice(&updates)];
            let got = run_one::<u32>(driver, ranks, &inputs, 12).unwrap();
            assert_eq!(got, [102, 1, 2, 3, 4, 103, 6, 7, 100, 101, 10, 11]);
        }
    }

    #[test]
    fn an_index_out_of_bounds_is_an_error() {
        let driver = ScatterElements::new(DType::U8, DType::I64, &[2, 2], &[1, 1], 1);
        let error = run_one::<u8>(driver, 2, &[&[0; 4], bytemuck::bytes_of(&2i64), &[1]], 4).unwrap_err();
        assert_eq!(error, RunError::Data("index 2 is out of bounds for an axis of 2 elements".into()));
    }
}
