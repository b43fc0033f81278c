use std::fmt;

use super::width::{grain, with_width};
use crate::driver::{Driver, RunError};
use crate::rt::Worker;
use crate::tape::Io;
use crate::tensor::{DType, Element};

/// A copy of the cache `[batch, prefix, max_len, inner]` over which the update `[batch, prefix, len, inner]` is written along
/// the third axis, from the write index of its batch on.
///
/// Operands: cache, update and, where there are any, the write indices `[batch]` (i64); without them updates begin at 0. The
/// cache and the output may share memory: only the update is written then.
pub struct TensorScatter {
    pub dtype: DType,
    pub batch: usize,
    pub prefix: usize,
    pub max_len: usize,
    /// At most `max_len`.
    pub len: usize,
    pub inner: usize,
    /// Positions wrap around instead of having to lie in the cache.
    pub circular: bool,
}

impl TensorScatter {
    fn write<T: Element>(&self, worker: &Worker<'_>, io: &Io<'_>) -> Result<(), RunError> {
        let (cache, update, inner) = (io.separate_input::<T>(0), io.input::<T>(1), self.inner);
        let indices = if io.inputs() > 2 { io.input::<i64>(2) } else { &[] };
        let (block, written) = (self.max_len * inner, self.len * inner);
        for unit in worker.share(self.batch * self.prefix, grain(block * size_of::<T>())) {
            // SAFETY: shares of ranks are disjoint.
            let out = unsafe { io.output::<T>(0).range(unit * block..(unit + 1) * block) };
            if let Some(cache) = cache {
                out.copy_from_slice(&cache[unit * block..][..block]);
            }
            let first = self.first(indices.get(unit / self.prefix).copied().unwrap_or(0))?;
            let update = &update[unit * written..][..written];
            let before_end = (self.max_len - first).min(self.len) * inner;
            let (here, wrapped) = update.split_at(before_end);
            out[first * inner..][..here.len()].copy_from_slice(here);
            out[..wrapped.len()].copy_from_slice(wrapped);
        }
        Ok(())
    }

    /// The first position that an update at `index` writes.
    fn first(&self, index: i64) -> Result<usize, RunError> {
        let wrong = || {
            let (len, max_len) = (self.len, self.max_len);
            RunError::Data(format!("{len} positions from {index} on do not lie in a cache of {max_len}"))
        };
        let first = usize::try_from(index).map_err(|_| wrong())?;
        if self.circular {
            return Ok(first % self.max_len.max(1));
        }
        if first.checked_add(self.len).is_none_or(|end| end > self.max_len) {
            return Err(wrong());
        }
        Ok(first)
    }
}

impl fmt::Display for TensorScatter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { dtype, batch, prefix, max_len, len, inner, circular } = self;
        write!(f, "tensor_scatter {dtype} {batch}x{prefix}x{len}x{inner} into {max_len} circular={circular}")
    }
}

impl Driver for TensorScatter {
    fn in_place(&self) -> Option<[usize; 2]> {
        Some([0, 0])
    }

    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        with_width!(self.dtype, T => self.write::<T>(worker, io))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mem::{AlignedBuf, Workspace};
    use crate::rt::Team;
    use crate::tape::{Argument, Buffer, Place, Step, Tape};
    use crate::testing::run_one;

    fn run(indices: Option<&[i64]>, len: usize, circular: bool) -> Result<Vec<u16>, RunError> {
        let (batch, prefix, max_len, inner) = (2, 2, 4, 3);
        let cache: Vec<u16> = (0..48).collect();
        let update: Vec<u16> = (100..100 + (12 * len) as u16).collect();
        let driver = TensorScatter { dtype: DType::F16, batch, prefix, max_len, len, inner, circular };
        let mut inputs = vec![bytemuck::cast_slice(&cache), bytemuck::cast_slice(&update)];
        inputs.extend(indices.map(bytemuck::cast_slice::<i64, u8>));
        run_one(driver, 3, &inputs, 48)
    }

    #[test]
    fn writes_each_batch_from_its_index_on() {
        for (indices, len, circular) in [(None, 2, false), (Some([2, 0]), 2, false), (Some([3, 6]), 3, true)] {
            let mut expected: Vec<u16> = (0..48).collect();
            for (unit, t, i) in (0..4 * len * 3).map(|at| (at / 3 / len, at / 3 % len, at % 3)) {
                let first = indices.map_or(0, |indices: [i64; 2]| indices[unit / 2]) as usize;
                expected[(unit * 4 + (first + t) % 4) * 3 + i] = 100 + ((unit * len + t) * 3 + i) as u16;
            }
            assert_eq!(run(indices.as_ref().map(|x| &x[..]), len, circular).unwrap(), expected);
        }
    }

    #[test]
    fn a_cache_in_place_takes_the_update_only() {
        let driver =
            TensorScatter { dtype: DType::U8, batch: 1, prefix: 2, max_len: 3, len: 1, inner: 2, circular: false };
        let buffer = |place, bytes| Buffer { place, bytes };
        let places = [(Place::Input(0), 12), (Place::Input(1), 4), (Place::Input(2), 8), (Place::Output(0), 12)];
        let step = Step {
            driver: Box::new(driver),
            inputs: [0, 1, 2].into_iter().collect(),
            outputs: [3].into_iter().collect(),
            label: 0,
        };
        let tape = Tape::new(places.map(|(place, bytes)| buffer(place, bytes)).to_vec(), vec![step]).unwrap();
        let mut cache = AlignedBuf::copy_of(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
        let arguments =
            [Argument::Output(0), Argument::Bytes(&[50, 51, 52, 53]), Argument::Bytes(bytemuck::bytes_of(&1i64))];
        tape.run_sharing(&Team::new(2).unwrap(), &mut Workspace::new(), &arguments, &mut [&mut cache]).unwrap();
        assert_eq!(&*cache, [0, 1, 50, 51, 4, 5, 6, 7, 52, 53, 10, 11]);
    }

    #[test]
    fn an_update_outside_of_the_cache_is_an_error() {
        for (indices, circular) in [([0, 3], false), ([-1, 0], false), ([-1, 0], true), ([i64::MAX, 0], false)] {
            assert!(matches!(run(Some(&indices), 2, circular), Err(RunError::Data(_))));
        }
    }
}
