//! f16 <-> f32, element by element.

use std::fmt;

use half::f16;
use half::slice::HalfFloatSliceExt;

use crate::driver::{Driver, RunError};
use crate::rt::Worker;
use crate::tape::Io;
use crate::vector;

/// Elements that one rank takes at least.
const GRAIN: usize = 4096;

/// Widens f16 to f32, exactly. Operands: x `[elements]` f16 -> y `[elements]` f32.
pub struct F16ToF32 {
    elements: usize,
}

impl F16ToF32 {
    pub fn new(elements: usize) -> Self {
        Self { elements }
    }
}

impl fmt::Display for F16ToF32 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "f16_to_f32 n={}", self.elements)
    }
}

impl Driver for F16ToF32 {
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        let share = worker.share(self.elements, GRAIN);
        // SAFETY: shares of ranks are disjoint.
        let y = unsafe { io.output::<f32>(0).range(share.clone()) };
        let x = &io.input::<f16>(0)[share];
        if !vector::widen(worker, x, y) {
            x.convert_to_f32_slice(y);
        }
        Ok(())
    }
}

/// Rounds f32 to f16, ties to even, overflow to infinity. Operands: x `[elements]` f32 -> y `[elements]` f16.
pub struct F32ToF16 {
    elements: usize,
}

impl F32ToF16 {
    pub fn new(elements: usize) -> Self {
        Self { elements }
    }
}

impl fmt::Display for F32ToF16 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "f32_to_f16 n={}", self.elements)
    }
}

impl Driver for F32ToF16 {
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        let share = worker.share(self.elements, GRAIN);
        // SAFETY: shares of ranks are disjoint.
        let y = unsafe { io.output::<f16>(0).range(share.clone()) };
        let x = &io.input::<f32>(0)[share];
        if !vector::narrow(worker, x, y) {
            y.convert_from_f32_slice(x);
        }
        Ok(())
    }
}
