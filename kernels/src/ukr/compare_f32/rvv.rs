//! Groups of eight registers: v8 is `a`, v16 is `b`; a number that repeats is in f10.

use super::Args;

/// One form: `$load` brings what advances, `$compare` leaves the mask in v0.
macro_rules! rows {
    ($args:expr, $first:expr, $second:expr, $repeated:expr, [$($load:literal),+], $compare:literal) => {
        std::arch::asm!(
            ".option push",
            ".option arch, +v",
            "beqz a2, 2f",
            "1:",
            "vsetvli a4, a2, e32, m8, ta, ma",
            $($load,)+
            $compare,
            "vsetvli zero, zero, e8, m2, ta, ma",
            "vmv.v.i v8, 0",
            "vmerge.vim v8, v8, 1, v0",
            "vse8.v v8, (a1)",
            "sub a2, a2, a4",
            "add a1, a1, a4",
            "slli a4, a4, 2",
            "add a0, a0, a4",
            "add a3, a3, a4",
            "bnez a2, 1b",
            "2:",
            ".option pop",
            inout("a0") $first => _,
            inout("a3") $second => _,
            inout("a1") $args.y => _,
            inout("a2") $args.len => _,
            in("f10") $repeated,
            clobber_abi("C"),
            options(nostack),
        )
    };
}

/// The three forms of a relation: both operands advance, `b` repeats, `a` repeats.
macro_rules! relation {
    ($name:ident, $both:literal, $b_repeats:literal, $a_repeats:literal) => {
        /// # Safety
        /// The contract of [`Args`], on a core that meets the needs of its row in the table.
        pub unsafe fn $name(args: &Args) {
            // SAFETY: the assembly touches only the numbers that `Args` lends it, one of an operand that repeats.
            unsafe {
                match (args.a_repeats, args.b_repeats) {
                    (false, false) => {
                        rows!(args, args.a, args.b, 0f32, ["vle32.v v8, (a0)", "vle32.v v16, (a3)"], $both)
                    }
                    (false, true) => rows!(args, args.a, args.a, *args.b, ["vle32.v v8, (a0)"], $b_repeats),
                    (true, _) => rows!(args, args.b, args.b, *args.a, ["vle32.v v8, (a0)"], $a_repeats),
                }
            }
        }
    };
}

relation!(equal, "vmfeq.vv v0, v8, v16", "vmfeq.vf v0, v8, f10", "vmfeq.vf v0, v8, f10");
relation!(less, "vmflt.vv v0, v8, v16", "vmflt.vf v0, v8, f10", "vmfgt.vf v0, v8, f10");
relation!(less_or_equal, "vmfle.vv v0, v8, v16", "vmfle.vf v0, v8, f10", "vmfge.vf v0, v8, f10");
