//! `gelu(x) = max(x, 0) - |x| erfc(|x|/sqrt 2)/2`.

use super::Args;
use super::wide::{argument, constant, exp, exp_parts, function, infinity_times_zero, reciprocal, tail};

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn gelu(args: &Args) {
    // SAFETY: the assembly touches only the numbers that `Args` lends it.
    unsafe {
        function!(
            args,
            "vfabs.v v28, v8",
            tail!(),
            constant!(far),
            "vfmin.vf v28, v28, f0",
            "vfmul.vv v12, v12, v28",
            argument!(),
            "vmv.v.i v16, 0",
            "vfmax.vv v8, v8, v16",
            "vfsub.vv v12, v8, v12",
            infinity_times_zero!()
        );
    }
}
