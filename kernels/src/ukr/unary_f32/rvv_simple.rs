//! Functions of a few instructions: groups of eight registers, `x` and `y` in v8.

use super::Args;

/// A function whose body turns v8 into its result, with `alpha` in f10 and `beta` in f11; v0 and v16 on are free.
macro_rules! simple {
    ($name:ident, $($body:literal),+) => {
        /// # Safety
        /// The contract of [`Args`], on a core that meets the needs of its row in the table.
        pub unsafe fn $name(args: &Args) {
            // SAFETY: the assembly touches only the numbers that `Args` lends it.
            unsafe {
                std::arch::asm!(
                    ".option push",
                    ".option arch, +v",
                    "beqz a2, 2f",
                    "1:",
                    "vsetvli a3, a2, e32, m8, ta, ma",
                    "vle32.v v8, (a0)",
                    $($body,)+
                    "vse32.v v8, (a1)",
                    "sub a2, a2, a3",
                    "slli a3, a3, 2",
                    "add a0, a0, a3",
                    "add a1, a1, a3",
                    "bnez a2, 1b",
                    "2:",
                    ".option pop",
                    inout("a0") args.x => _,
                    inout("a1") args.y => _,
                    inout("a2") args.len => _,
                    in("f10") args.alpha,
                    in("f11") args.beta,
                    clobber_abi("C"),
                    options(nostack),
                );
            }
        }
    };
}

simple!(abs, "vfabs.v v8, v8");
// `vfmax` and `vfmin` would turn NaN into the bound; no comparison selects it.
simple!(
    clip,
    "vmflt.vf v0, v8, f10",
    "vfmerge.vfm v8, v8, f10, v0",
    "vmfgt.vf v0, v8, f11",
    "vfmerge.vfm v8, v8, f11, v0"
);
simple!(leaky_relu, "vmv.v.i v16, 0", "vmflt.vv v0, v8, v16", "vfmul.vf v16, v8, f10", "vmerge.vvm v8, v8, v16, v0");
simple!(neg, "vfneg.v v8, v8");
simple!(reciprocal, "li a4, 1", "fcvt.s.w f0, a4", "vfrdiv.vf v8, v8, f0");
simple!(relu, "vmv.v.i v16, 0", "vmflt.vv v0, v8, v16", "vmerge.vim v8, v8, 0, v0");
simple!(sqrt, "vfsqrt.v v8, v8");
