//! The result is in v24.

use super::Args;
use crate::ukr::operands::{function, rows};

/// A function by its bodies.
macro_rules! binary {
    ($name:ident, $both:tt, $b_repeats:tt, $a_repeats:tt) => {
        function!($name, ["vse32.v v24, (a1)", "add a1, a1, t2"], $both, $b_repeats, $a_repeats);
    };
}

binary!(add, ["vfadd.vv v24, v8, v16"], ["vfadd.vf v24, v8, f10"], ["vfadd.vf v24, v8, f10"]);
binary!(sub, ["vfsub.vv v24, v8, v16"], ["vfsub.vf v24, v8, f10"], ["vfrsub.vf v24, v8, f10"]);
binary!(mul, ["vfmul.vv v24, v8, v16"], ["vfmul.vf v24, v8, f10"], ["vfmul.vf v24, v8, f10"]);
binary!(div, ["vfdiv.vv v24, v8, v16"], ["vfdiv.vf v24, v8, f10"], ["vfrdiv.vf v24, v8, f10"]);

/// `vfmin` and `vfmax` prefer a number to NaN, which is put back here.
macro_rules! extreme {
    ($name:ident, $instruction:literal) => {
        binary!(
            $name,
            [
                $instruction,
                "vmfne.vv v0, v8, v8",
                "vmerge.vvm v24, v24, v8, v0",
                "vmfne.vv v0, v16, v16",
                "vmerge.vvm v24, v24, v16, v0"
            ],
            [
                "vfmv.v.f v16, f10",
                $instruction,
                "vmfne.vv v0, v8, v8",
                "vmerge.vvm v24, v24, v8, v0",
                "vmfne.vv v0, v16, v16",
                "vmerge.vvm v24, v24, v16, v0"
            ],
            [
                "vfmv.v.f v16, f10",
                $instruction,
                "vmfne.vv v0, v8, v8",
                "vmerge.vvm v24, v24, v8, v0",
                "vmfne.vv v0, v16, v16",
                "vmerge.vvm v24, v24, v16, v0"
            ]
        );
    };
}

extreme!(min, "vfmin.vv v24, v8, v16");
extreme!(max, "vfmax.vv v24, v8, v16");
