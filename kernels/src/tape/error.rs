use std::error::Error;
use std::fmt;

use crate::driver::RunError;
use crate::mem::OutOfMemory;
use crate::rt::TeamError;

/// Why a list of steps is not a tape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TapeError {
    /// Step `step` names a buffer that does not exist.
    UnknownBuffer { step: usize },
    /// Step `step` writes to a buffer that overlaps another of its operands or is not writable.
    Aliased { step: usize },
}

/// Why a run failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TapeRunError {
    /// Input or output `index` has `given` bytes, not the `expected` ones.
    Size {
        index: usize,
        given: usize,
        expected: usize,
    },
    /// Input `input` is the memory of an output, which is not allowed for this pair.
    Shared {
        input: usize,
        output: usize,
    },
    /// The step with this label failed.
    Step {
        label: usize,
        error: RunError,
    },
    Team(TeamError),
    Memory(OutOfMemory),
}

impl fmt::Display for TapeRunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TapeRunError::Size { index, given, expected } => {
                write!(f, "operand {index} has {given} bytes, expected {expected}")
            }
            TapeRunError::Shared { input, output } => {
                write!(f, "input {input} may not be the memory of output {output}")
            }
            TapeRunError::Step { error, .. } => error.fmt(f),
            TapeRunError::Team(error) => error.fmt(f),
            TapeRunError::Memory(error) => error.fmt(f),
        }
    }
}

impl Error for TapeRunError {}
