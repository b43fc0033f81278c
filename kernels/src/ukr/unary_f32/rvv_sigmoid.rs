//! The logistic function and what it weighs.

use super::Args;
use super::wide::{argument, constant, exp, exp_parts, function, infinity_times_zero, reciprocal};

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn sigmoid(args: &Args) {
    // SAFETY: the assembly touches only the numbers that `Args` lends it.
    unsafe {
        function!(
            args,
            "vfneg.v v8, v8",
            exp!(),
            constant!(one),
            "vfadd.vf v12, v12, f0",
            reciprocal!(),
            "vmv.v.v v12, v16"
        );
    }
}

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn swish(args: &Args) {
    // SAFETY: the assembly touches only the numbers that `Args` lends it.
    unsafe {
        function!(
            args,
            constant!(far),
            "fneg.d f1, f0",
            "vfmax.vf v28, v8, f1",
            "vfneg.v v8, v8",
            "vfmul.vf v8, v8, f10",
            exp!(),
            constant!(one),
            "vfadd.vf v12, v12, f0",
            reciprocal!(),
            "vfmul.vv v12, v28, v16",
            infinity_times_zero!()
        );
    }
}

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn gelu_tanh(args: &Args) {
    // SAFETY: the assembly touches only the numbers that `Args` lends it.
    unsafe {
        function!(
            args,
            constant!(far),
            "fneg.d f1, f0",
            "vfmax.vf v28, v8, f1",
            "vfmin.vf v8, v28, f0",
            "vfmul.vv v12, v8, v8",
            constant!(gelu_b),
            "vfmul.vf v12, v12, f0",
            constant!(gelu_a),
            "vfadd.vf v12, v12, f0",
            "vfneg.v v8, v8",
            "vfmul.vv v8, v8, v12",
            exp!(),
            constant!(one),
            "vfadd.vf v12, v12, f0",
            reciprocal!(),
            "vfmul.vv v12, v28, v16",
            infinity_times_zero!()
        );
    }
}
