//! `tanh(x) = T/(T + 2)` with `T = exp(2x) - 1`, which keeps its relative precision near 0.

use super::Args;
use super::wide::{constant, exp_parts, function, reciprocal};

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn tanh(args: &Args) {
    // SAFETY: the assembly touches only the numbers that `Args` lends it.
    unsafe {
        function!(
            args,
            "vfadd.vv v8, v8, v8",
            exp_parts!(),
            constant!(one),
            "vfsub.vf v16, v16, f0",
            "vfadd.vv v24, v12, v16",
            constant!(two),
            "vfadd.vf v12, v24, f0",
            reciprocal!(),
            "vfmul.vv v12, v24, v16"
        );
    }
}
