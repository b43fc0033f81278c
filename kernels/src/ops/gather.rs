use std::fmt;

use super::indices::Indices;
use super::width::{grain, with_width};
use crate::driver::{Driver, RunError};
use crate::rt::Worker;
use crate::tape::Io;
use crate::tensor::{DType, Element};

/// `out[o, i, ..] = data[o, indices[i], ..]` for data `[outer, axis, inner]`, indices `[count]`, out `[outer, count, inner]`.
///
/// Operands: data, indices. An index outside of `-axis..axis` is a [`RunError::Data`].
pub struct Gather {
    pub dtype: DType,
    /// `I32` or `I64`.
    pub index: DType,
    pub outer: usize,
    pub axis: usize,
    pub inner: usize,
    pub count: usize,
}

impl Gather {
    fn gather<T: Element>(&self, worker: &Worker<'_>, io: &Io<'_>) -> Result<(), RunError> {
        let Self { axis, inner, count, .. } = *self;
        let share = worker.share(self.outer * count, grain(inner * size_of::<T>()));
        if share.is_empty() {
            return Ok(());
        }
        let (data, indices) = (io.input::<T>(0), Indices::of(io, 1, self.index));
        // SAFETY: shares of ranks are disjoint.
        let out = unsafe { io.output::<T>(0).range(share.start * inner..share.end * inner) };
        for (i, row) in share.enumerate() {
            let from = row / count * axis + indices.resolve(row % count, axis)?;
            match inner {
                1 => out[i] = data[from],
                _ => out[i * inner..][..inner].copy_from_slice(&data[from * inner..][..inner]),
            }
        }
        Ok(())
    }
}

impl fmt::Display for Gather {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { dtype, outer, axis, inner, count, .. } = self;
        write!(f, "gather {dtype} outer={outer} axis={axis} inner={inner} count={count}")
    }
}

impl Driver for Gather {
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        with_width!(self.dtype, T => self.gather::<T>(worker, io))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::run_one;

    #[test]
    fn takes_the_named_rows() {
        for (outer, axis, inner) in [(1, 5, 1), (3, 4, 7), (2, 1, 1), (1, 300, 65), (0, 4, 3), (4, 3, 0)] {
            let data: Vec<u32> = (0..(outer * axis * inner) as u32).collect();
            for count in [0, 1, 2, 513] {
                let indices: Vec<i64> = (0..count as i64).map(|i| i * 7 % (2 * axis as i64) - axis as i64).collect();
                let mut want = Vec::new();
                for o in 0..outer {
                    for &index in &indices {
                        let index = if index < 0 { index + axis as i64 } else { index } as usize;
                        want.extend_from_slice(&data[(o * axis + index) * inner..][..inner]);
                    }
                }
                let narrow: Vec<i32> = indices.iter().map(|&index| index as i32).collect();
                for ranks in 1..=3 {
                    for (index, bytes) in
                        [(DType::I64, bytemuck::cast_slice(&indices)), (DType::I32, bytemuck::cast_slice(&narrow))]
                    {
                        let driver = Gather { dtype: DType::F32, index, outer, axis, inner, count };
                        let inputs = [bytemuck::cast_slice(&data), bytes];
                        assert_eq!(run_one::<u32>(driver, ranks, &inputs, want.len()).unwrap(), want);
                    }
                }
            }
        }
    }

    #[test]
    fn an_index_out_of_bounds_names_itself() {
        for (axis, bad) in [(4, 4), (4, -5), (0, 0), (4, i64::MAX), (4, i64::MIN)] {
            let driver = Gather { dtype: DType::I8, index: DType::I64, outer: 1, axis, inner: 1, count: 1 };
            let error = run_one::<u8>(driver, 2, &[&vec![0; axis], bytemuck::bytes_of(&bad)], 1).unwrap_err();
            assert_eq!(error, RunError::Data(format!("index {bad} is out of bounds for an axis of {axis} elements")));
        }
    }
}
