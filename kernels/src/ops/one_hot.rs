use std::fmt;

use super::indices::{Indices, wrap};
use super::width::{grain, with_width};
use crate::driver::{Driver, RunError};
use crate::rt::Worker;
use crate::tape::Io;
use crate::tensor::{DType, Element};

/// `out[o, d, i]` is `values[1]` where `d` is the index at `[o, i]`, else `values[0]`. Indices outside of `-depth..depth`
/// match nothing.
///
/// Operands: indices `[outer, inner]` of type `I32`, `I64` or `F32`; values `[2]`.
pub struct OneHot {
    pub dtype: DType,
    pub index: DType,
    pub outer: usize,
    pub depth: usize,
    pub inner: usize,
}

impl OneHot {
    fn expand<T: Element>(&self, worker: &Worker<'_>, io: &Io<'_>) {
        let Self { depth, inner, .. } = *self;
        let (indices, values) = (Indices::of(io, 0, self.index), io.input::<T>(1));
        let row = depth * inner;
        let share = worker.share(self.outer, grain(row * size_of::<T>()));
        // SAFETY: shares of ranks are disjoint.
        let out = unsafe { io.output::<T>(0).range(share.start * row..share.end * row) };
        out.fill(values[0]);
        for (i, outer) in share.enumerate() {
            for column in 0..inner {
                if let Some(hot) = wrap(indices.get(outer * inner + column), depth) {
                    out[(i * depth + hot) * inner + column] = values[1];
                }
            }
        }
    }
}

impl fmt::Display for OneHot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { dtype, outer, depth, inner, .. } = self;
        write!(f, "one_hot {dtype} outer={outer} depth={depth} inner={inner}")
    }
}

impl Driver for OneHot {
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        with_width!(self.dtype, T => self.expand::<T>(worker, io));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::run_one;

    #[test]
    fn marks_the_index_and_ignores_strangers() {
        let indices = [1i64, -1, 5, 0, -5, 3];
        let values = [7u16, 8];
        for (outer, inner) in [(6, 1), (2, 3), (1, 6)] {
            let driver = OneHot { dtype: DType::F16, index: DType::I64, outer, depth: 4, inner };
            let inputs = [bytemuck::cast_slice(&indices), bytemuck::cast_slice(&values)];
            let got = run_one::<u16>(driver, 2, &inputs, 24).unwrap();
            for (at, value) in got.iter().enumerate() {
                let (o, d, i) = (at / inner / 4, (at / inner % 4) as i64, at % inner);
                let index = indices[o * inner + i];
                assert_eq!(*value, if index == d || index + 4 == d { 8 } else { 7 });
            }
        }
    }
}
