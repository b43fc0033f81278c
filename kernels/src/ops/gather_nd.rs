use std::fmt;

use super::indices::Indices;
use super::width::{grain, with_width};
use crate::driver::{Driver, RunError};
use crate::rt::Worker;
use crate::tape::Io;
use crate::tensor::{DType, Dims, Element};

/// `out[b, i, ..] = data[b, tuple(b, i), ..]` for data `[batch, bounds.., inner]`, i64 index tuples
/// `[batch, count, bounds.len()]` and out `[batch, count, inner]`.
///
/// Operands: data, indices. An index out of bounds is a [`RunError::Data`].
pub struct GatherNd {
    pub dtype: DType,
    pub batch: usize,
    /// The axes of the data that a tuple indexes.
    pub bounds: Dims,
    pub inner: usize,
    /// Tuples in each batch.
    pub count: usize,
}

impl GatherNd {
    fn gather<T: Element>(&self, worker: &Worker<'_>, io: &Io<'_>) -> Result<(), RunError> {
        let Self { inner, count, .. } = *self;
        let share = worker.share(self.batch * count, grain(inner * size_of::<T>()));
        if share.is_empty() {
            return Ok(());
        }
        let (data, indices) = (io.input::<T>(0), Indices::of(io, 1, DType::I64));
        let indexed: usize = self.bounds.iter().product();
        // SAFETY: shares of ranks are disjoint.
        let out = unsafe { io.output::<T>(0).range(share.start * inner..share.end * inner) };
        for (i, row) in share.enumerate() {
            let tuple = indices.resolve_tuple(row * self.bounds.len(), &self.bounds)?;
            let from = (row / count * indexed + tuple) * inner;
            out[i * inner..][..inner].copy_from_slice(&data[from..][..inner]);
        }
        Ok(())
    }
}

impl fmt::Display for GatherNd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { dtype, batch, bounds, inner, count } = self;
        write!(f, "gather_nd {dtype} batch={batch} bounds={bounds:?} inner={inner} count={count}")
    }
}

impl Driver for GatherNd {
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        with_width!(self.dtype, T => self.gather::<T>(worker, io))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::run_one;

    fn gather(batch: usize, bounds: &[usize], inner: usize, tuples: &[i64]) -> Result<Vec<u32>, RunError> {
        let len = batch * bounds.iter().product::<usize>() * inner;
        let data: Vec<u32> = (0..len as u32).collect();
        let count = tuples.len() / bounds.len() / batch;
        let driver = GatherNd { dtype: DType::F32, batch, bounds: Dims::from_slice(bounds), inner, count };
        let inputs = [bytemuck::cast_slice(&data), bytemuck::cast_slice(tuples)];
        run_one::<u32>(driver, 2, &inputs, batch * count * inner)
    }

    #[test]
    fn takes_the_slices_that_tuples_name() {
        assert_eq!(gather(1, &[2, 2], 1, &[0, 0, 1, -1]).unwrap(), [0, 3]);
        assert_eq!(gather(1, &[2], 3, &[1, -2, 1]).unwrap(), [3, 4, 5, 0, 1, 2, 3, 4, 5]);
        assert_eq!(gather(2, &[3], 2, &[2, 0]).unwrap(), [4, 5, 6, 7]);
        let error = gather(1, &[2, 3], 1, &[1, 3]).unwrap_err();
        assert_eq!(error, RunError::Data("index 3 is out of bounds for an axis of 3 elements".into()));
    }
}
