//! Functions of a few instructions: groups of eight registers, `x` in v8 and `y` in v24.

use super::Args;
use crate::ukr::rounds::{first, next};

/// A function of `alpha` in f10 and `beta` in f11; f12 is 0, f13 is 1. `$first` reads v8 for the last time, `$rest` leaves the
/// result in v24; v0 and v16 are free.
macro_rules! simple {
    ($name:ident, [$($first:literal),+], [$($rest:literal),*]) => {
        /// # Safety
        /// The contract of [`Args`], on a core that meets the needs of its row in the table.
        pub unsafe fn $name(args: &Args) {
            // SAFETY: the assembly touches only the numbers that `Args` lends it.
            unsafe {
                std::arch::asm!(
                    ".option push",
                    ".option arch, +v",
                    "beqz a2, 2f",
                    first!(),
                    "1:",
                    $($first,)+
                    next!(),
                    $($rest,)*
                    "vse32.v v24, (a1)",
                    "add a1, a1, t2",
                    "mv t0, t1",
                    "vsetvli zero, t0, e32, m8, ta, ma",
                    "bnez t0, 1b",
                    "2:",
                    ".option pop",
                    inout("a0") args.x => _,
                    inout("a1") args.y => _,
                    inout("a2") args.len => _,
                    in("f10") args.alpha,
                    in("f11") args.beta,
                    in("f12") 0f32,
                    in("f13") 1f32,
                    clobber_abi("C"),
                    options(nostack),
                );
            }
        }
    };
}

simple!(abs, ["vfabs.v v24, v8"], []);
// `vfmax` and `vfmin` turn NaN into the bound.
simple!(
    clip,
    ["vmfne.vv v0, v8, v8", "vmv.v.v v16, v8", "vfmax.vf v24, v8, f10"],
    ["vfmin.vf v24, v24, f11", "vmerge.vvm v24, v24, v16, v0"]
);
simple!(
    leaky_relu,
    ["vfmul.vf v16, v8, f10", "vmv.v.v v24, v8"],
    ["vmflt.vf v0, v24, f12", "vmerge.vvm v24, v24, v16, v0"]
);
simple!(neg, ["vfneg.v v24, v8"], []);
simple!(reciprocal, ["vfrdiv.vf v24, v8, f13"], []);
// The sum with 0 has NaN without its sign, which is then larger than 0 as an integer, too.
simple!(relu, ["vfadd.vf v24, v8, f12"], ["vmax.vx v24, v24, zero"]);
simple!(sqrt, ["vfsqrt.v v24, v8"], []);
