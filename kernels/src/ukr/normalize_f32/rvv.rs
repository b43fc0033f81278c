//! Groups of eight registers: v8 is `x` and the result, v16 is `gamma`, then `beta`.

use super::Args;

macro_rules! rows {
    ($args:expr, $($weights:literal),*) => {
        std::arch::asm!(
            ".option push",
            ".option arch, +v",
            "beqz a2, 2f",
            "1:",
            "vsetvli a5, a2, e32, m8, ta, ma",
            "vle32.v v8, (a0)",
            "vfsub.vf v8, v8, f10",
            "vfsub.vf v8, v8, f11",
            "vfmul.vf v8, v8, f12",
            $($weights,)*
            "vse32.v v8, (a1)",
            "sub a2, a2, a5",
            "slli a5, a5, 2",
            "add a0, a0, a5",
            "add a1, a1, a5",
            "add a3, a3, a5",
            "add a4, a4, a5",
            "bnez a2, 1b",
            "2:",
            ".option pop",
            inout("a0") $args.x => _,
            inout("a1") $args.y => _,
            inout("a2") $args.len => _,
            inout("a3") $args.gamma => _,
            inout("a4") $args.beta => _,
            in("f10") $args.mean,
            in("f11") $args.residue,
            in("f12") $args.scale,
            clobber_abi("C"),
            options(nostack),
        )
    };
}

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn run(args: &Args) {
    // SAFETY: the assembly touches only the numbers that `Args` lends it.
    unsafe {
        match (args.gamma.is_null(), args.beta.is_null()) {
            (true, true) => rows!(args,),
            (false, true) => rows!(args, "vle32.v v16, (a3)", "vfmul.vv v8, v8, v16"),
            (true, false) => rows!(args, "vle32.v v16, (a4)", "vfadd.vv v8, v8, v16"),
            (false, false) => {
                rows!(args, "vle32.v v16, (a3)", "vfmul.vv v8, v8, v16", "vle32.v v16, (a4)", "vfadd.vv v8, v8, v16")
            }
        }
    }
}
