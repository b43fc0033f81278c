//! Groups of eight registers: v8 is `a` and the result, v16 is `b`; a number that repeats is in f10.

use super::Args;

/// One form: `$load` brings what advances, `$body` leaves the result in v8.
macro_rules! rows {
    ($args:expr, $first:expr, $second:expr, $repeated:expr, [$($load:literal),*], $($body:literal),+) => {
        std::arch::asm!(
            ".option push",
            ".option arch, +v",
            "beqz a2, 2f",
            "1:",
            "vsetvli a4, a2, e32, m8, ta, ma",
            $($load,)*
            $($body,)+
            "vse32.v v8, (a1)",
            "sub a2, a2, a4",
            "slli a4, a4, 2",
            "add a0, a0, a4",
            "add a1, a1, a4",
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

/// The three forms of a function: both operands advance, `b` repeats, `a` repeats.
macro_rules! function {
    ($name:ident, [$($both:literal),+], [$($b_repeats:literal),+], [$($a_repeats:literal),+]) => {
        /// # Safety
        /// The contract of [`Args`], on a core that meets the needs of its row in the table.
        pub unsafe fn $name(args: &Args) {
            // SAFETY: the assembly touches only the numbers that `Args` lends it, one of an operand that repeats.
            unsafe {
                match (args.a_repeats, args.b_repeats) {
                    (false, false) => {
                        rows!(args, args.a, args.b, 0f32, ["vle32.v v8, (a0)", "vle32.v v16, (a3)"], $($both),+)
                    }
                    (false, true) => rows!(args, args.a, args.a, *args.b, ["vle32.v v8, (a0)"], $($b_repeats),+),
                    (true, _) => rows!(args, args.b, args.b, *args.a, ["vle32.v v8, (a0)"], $($a_repeats),+),
                }
            }
        }
    };
}

function!(add, ["vfadd.vv v8, v8, v16"], ["vfadd.vf v8, v8, f10"], ["vfadd.vf v8, v8, f10"]);
function!(sub, ["vfsub.vv v8, v8, v16"], ["vfsub.vf v8, v8, f10"], ["vfrsub.vf v8, v8, f10"]);
function!(mul, ["vfmul.vv v8, v8, v16"], ["vfmul.vf v8, v8, f10"], ["vfmul.vf v8, v8, f10"]);
function!(div, ["vfdiv.vv v8, v8, v16"], ["vfdiv.vf v8, v8, f10"], ["vfrdiv.vf v8, v8, f10"]);

/// `vfmin` and `vfmax` prefer a number to NaN, which is put back here.
macro_rules! extreme {
    ($name:ident, $instruction:literal) => {
        function!(
            $name,
            [
                $instruction,
                "vmfne.vv v0, v8, v8",
                "vmerge.vvm v24, v24, v8, v0",
                "vmfne.vv v0, v16, v16",
                "vmerge.vvm v8, v24, v16, v0"
            ],
            [
                "vfmv.v.f v16, f10",
                $instruction,
                "vmfne.vv v0, v8, v8",
                "vmerge.vvm v24, v24, v8, v0",
                "vmfne.vv v0, v16, v16",
                "vmerge.vvm v8, v24, v16, v0"
            ],
            [
                "vfmv.v.f v16, f10",
                $instruction,
                "vmfne.vv v0, v8, v8",
                "vmerge.vvm v24, v24, v8, v0",
                "vmfne.vv v0, v16, v16",
                "vmerge.vvm v8, v24, v16, v0"
            ]
        );
    };
}

extreme!(min, "vfmin.vv v24, v8, v16");
extreme!(max, "vfmax.vv v24, v8, v16");
