//! Copies a buffer to another place.

use std::fmt;

use crate::driver::{Driver, RunError};
use crate::rt::Worker;
use crate::tape::Io;

/// Bytes that one rank takes at least.
const GRAIN: usize = 64 << 10;

/// Operands: x `[bytes]` u8 -> y `[bytes]` u8.
pub struct Copy {
    bytes: usize,
}

impl Copy {
    pub fn new(bytes: usize) -> Self {
        Self { bytes }
    }
}

impl fmt::Display for Copy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "copy bytes={}", self.bytes)
    }
}

impl Driver for Copy {
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        let share = worker.share(self.bytes, GRAIN);
        // SAFETY: shares of ranks are disjoint.
        let y = unsafe { io.output::<u8>(0).range(share.clone()) };
        y.copy_from_slice(&io.input::<u8>(0)[share]);
        Ok(())
    }
}
