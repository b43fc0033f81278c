//! What a step is to the executor.

use std::fmt;

use crate::rt::{Poisoned, Worker};
use crate::tape::Io;

/// One operation with everything fixed but the addresses: shapes, strides, weights, variant.
///
/// `Display` gives the line that program listings show. Every rank of the team calls [`Driver::run`] with the
/// same arguments; a driver splits the work by `worker.rank()`. The executor puts a barrier between steps that touch
/// the same bytes.
pub trait Driver: fmt::Display + Send + Sync {
    /// Bytes of scratch each rank needs.
    fn scratch(&self) -> usize {
        0
    }

    /// An input and an output, by position, that the caller may have put into the same memory. The driver then reads the
    /// old contents from the output: [`Io::separate_input`] tells.
    fn in_place(&self) -> Option<[usize; 2]> {
        None
    }

    /// Does this rank's share. `scratch` has [`Driver::scratch`] bytes, aligned to 64.
    ///
    /// An error on one rank ends the run on all of them.
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, scratch: &mut [u8]) -> Result<(), RunError>;
}

/// Why a run ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// The data do not fit the operation, e.g. a Gather index out of bounds. The text names the fault.
    Data(String),
    /// A weight was planned but never packed, or packed for another layout.
    Weights(String),
    /// Another rank failed or panicked.
    Poisoned,
}

impl From<Poisoned> for RunError {
    fn from(_: Poisoned) -> Self {
        RunError::Poisoned
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Data(text) | RunError::Weights(text) => f.write_str(text),
            RunError::Poisoned => f.write_str("another worker failed"),
        }
    }
}

impl std::error::Error for RunError {}
