use std::fmt;

use super::width::{grain, with_width};
use crate::driver::{Driver, RunError};
use crate::rt::Worker;
use crate::tape::Io;
use crate::tensor::{DType, Element};

/// `len` elements of one value. No operands.
pub struct Fill {
    pub dtype: DType,
    pub len: usize,
    /// The element's bytes in memory order; those beyond its size are ignored.
    pub value: [u8; 8],
}

impl Fill {
    fn fill<T: Element>(&self, worker: &Worker<'_>, io: &Io<'_>) {
        let share = worker.share(self.len, grain(size_of::<T>()));
        // SAFETY: shares of ranks are disjoint.
        let out = unsafe { io.output::<T>(0).range(share) };
        out.fill(bytemuck::pod_read_unaligned(&self.value[..size_of::<T>()]));
    }
}

impl fmt::Display for Fill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = &self.value[..self.dtype.size()];
        write!(f, "fill {} len={} bytes={value:02x?}", self.dtype, self.len)
    }
}

impl Driver for Fill {
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        with_width!(self.dtype, T => self.fill::<T>(worker, io));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::run_one;

    #[test]
    fn every_element_gets_the_value() {
        for len in [0, 1, 7, 70_000] {
            let mut value = [0xff; 8];
            value[..4].copy_from_slice(&1.5f32.to_ne_bytes());
            let driver = Fill { dtype: DType::F32, len, value };
            assert_eq!(run_one::<f32>(driver, 2, &[], len).unwrap(), vec![1.5; len]);
        }
    }
}
