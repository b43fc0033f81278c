//! The error function: a polynomial up to 1, `1 - 2 erfc(|x|)/2` with the sign of `x` beyond.

use super::Args;
use super::wide::{argument, constant, exp, exp_parts, function, reciprocal, tail};

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn erf(args: &Args) {
    // SAFETY: the assembly touches only the numbers that `Args` lends it.
    unsafe {
        function!(
            args,
            constant!(sqrt_2),
            "vfabs.v v28, v8",
            "vfmul.vf v28, v28, f0",
            tail!(),
            "vfadd.vv v12, v12, v12",
            constant!(one),
            "vfrsub.vf v12, v12, f0",
            argument!(),
            "vfsgnj.vv v12, v12, v8",
            "vfmul.vv v16, v8, v8",
            constant!(erf 6),
            "vfmv.v.f v20, f0",
            "vfmul.vv v20, v20, v16",
            constant!(erf 5),
            "vfadd.vf v20, v20, f0",
            "vfmul.vv v20, v20, v16",
            constant!(erf 4),
            "vfadd.vf v20, v20, f0",
            "vfmul.vv v20, v20, v16",
            constant!(erf 3),
            "vfadd.vf v20, v20, f0",
            "vfmul.vv v20, v20, v16",
            constant!(erf 2),
            "vfadd.vf v20, v20, f0",
            "vfmul.vv v20, v20, v16",
            constant!(erf 1),
            "vfadd.vf v20, v20, f0",
            "vfmul.vv v20, v20, v16",
            constant!(erf 0),
            "vfadd.vf v20, v20, f0",
            "vfmul.vv v20, v20, v8",
            "vfabs.v v24, v8",
            constant!(one),
            "vmflt.vf v0, v24, f0",
            "vmerge.vvm v12, v12, v20, v0"
        );
    }
}
