use std::fmt;

use super::indices::Indices;
use super::number::with_number;
use super::scatter_elements::Reduction;
use super::width::{grain, with_width};
use crate::driver::{Driver, RunError};
use crate::rt::Worker;
use crate::tape::Io;
use crate::tensor::{DType, Dims, Element};

/// A copy of data `[bounds.., inner]` in which `out[tuple(i), ..]` becomes `updates[i, ..]`, or takes it in by a reduction, for
/// i64 index tuples `[count, bounds.len()]` and updates `[count, inner]`.
///
/// Operands: data, indices, updates. Updates to one slice follow each other.
pub struct ScatterNd {
    /// Reductions work on f32 and the integers.
    pub dtype: DType,
    pub reduction: Reduction,
    /// The axes of the data that a tuple indexes.
    pub bounds: Dims,
    pub inner: usize,
    /// Number of tuples.
    pub count: usize,
}

impl ScatterNd {
    fn scatter<T: Element>(&self, worker: &Worker<'_>, io: &Io<'_>, write: impl Fn(&mut T, T)) -> Result<(), RunError> {
        let (inner, output) = (self.inner, io.output::<T>(0));
        let len = self.bounds.iter().product::<usize>() * inner;
        let share = worker.share(len, grain(size_of::<T>()));
        // SAFETY: shares of ranks are disjoint.
        unsafe { output.range(share.clone()) }.copy_from_slice(&io.input::<T>(0)[share]);
        worker.barrier()?;
        if worker.rank() != 0 {
            return Ok(());
        }
        let (indices, updates) = (Indices::of(io, 1, DType::I64), io.input::<T>(2));
        // SAFETY: only rank 0 writes after the barrier.
        let out = unsafe { output.range(0..len) };
        for i in 0..self.count {
            let to = indices.resolve_tuple(i * self.bounds.len(), &self.bounds)? * inner;
            out[to..to + inner].iter_mut().zip(&updates[i * inner..][..inner]).for_each(|(y, x)| write(y, *x));
        }
        Ok(())
    }
}

impl fmt::Display for ScatterNd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { dtype, reduction, bounds, inner, count } = self;
        write!(f, "scatter_nd {dtype} {reduction:?} bounds={bounds:?} inner={inner} count={count}")
    }
}

impl Driver for ScatterNd {
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

    fn scatter(bounds: &[usize], inner: usize, tuples: &[i64]) -> Result<Vec<u32>, RunError> {
        reduce(Reduction::Replace, bounds, inner, tuples)
    }

    fn reduce(reduction: Reduction, bounds: &[usize], inner: usize, tuples: &[i64]) -> Result<Vec<u32>, RunError> {
        let len = bounds.iter().product::<usize>() * inner;
        let data: Vec<u32> = (0..len as u32).collect();
        let count = tuples.len() / bounds.len();
        let updates: Vec<u32> = (100..100 + (count * inner) as u32).collect();
        let driver = ScatterNd { dtype: DType::U32, reduction, bounds: Dims::from_slice(bounds), inner, count };
        let inputs = [bytemuck::cast_slice(&data), bytemuck::cast_slice(tuples), bytemuck::cast_slice(&updates)];
        run_one::<u32>(driver, 2, &inputs, len)
    }

    #[test]
    fn slices_are_reduced() {
        let of = |reduction| reduce(reduction, &[3], 2, &[1, -2]).unwrap();
        assert_eq!(of(Reduction::Add), [0, 1, 2 + 100 + 102, 3 + 101 + 103, 4, 5]);
        assert_eq!(of(Reduction::Mul), [0, 1, 2 * 100 * 102, 3 * 101 * 103, 4, 5]);
        assert_eq!(of(Reduction::Min), [0, 1, 2, 3, 4, 5]);
        assert_eq!(of(Reduction::Max), [0, 1, 102, 103, 4, 5]);
    }

    #[test]
    fn writes_slices_over_a_copy() {
        assert_eq!(scatter(&[5], 1, &[4, -4]).unwrap(), [0, 101, 2, 3, 100]);
        assert_eq!(scatter(&[2, 2], 2, &[1, 0, 0, 1]).unwrap(), [0, 1, 102, 103, 100, 101, 6, 7]);
        assert_eq!(scatter(&[3], 2, &[]).unwrap(), [0, 1, 2, 3, 4, 5]);
        let error = scatter(&[2, 2], 1, &[0, -3]).unwrap_err();
        assert_eq!(error, RunError::Data("index -3 is out of bounds for an axis of 2 elements".into()));
    }
}
