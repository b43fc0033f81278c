//! The result is a mask in v0, stored as bytes.

use super::Args;
use crate::ukr::operands::{function, rows};

/// A relation by its comparisons.
macro_rules! relation {
    ($name:ident, $both:literal, $b_repeats:literal, $a_repeats:literal) => {
        function!(
            $name,
            [
                "vsetvli zero, zero, e8, m2, ta, ma",
                "vmv.v.i v24, 0",
                "vmerge.vim v24, v24, 1, v0",
                "vse8.v v24, (a1)",
                "add a1, a1, t0"
            ],
            [$both],
            [$b_repeats],
            [$a_repeats]
        );
    };
}

relation!(equal, "vmfeq.vv v0, v8, v16", "vmfeq.vf v0, v8, f10", "vmfeq.vf v0, v8, f10");
relation!(less, "vmflt.vv v0, v8, v16", "vmflt.vf v0, v8, f10", "vmfgt.vf v0, v8, f10");
relation!(less_or_equal, "vmfle.vv v0, v8, v16", "vmfle.vf v0, v8, f10", "vmfge.vf v0, v8, f10");
