//! The exponential.

use super::Args;
use super::wide::{constant, exp, exp_parts, function};

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn exp(args: &Args) {
    // SAFETY: the assembly touches only the numbers that `Args` lends it.
    unsafe {
        function!(args, exp!());
    }
}
