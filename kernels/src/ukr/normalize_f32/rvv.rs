//! Groups of eight registers: v8 is `x`, v16 `gamma`, v0 `beta`, v24 the result.

use super::Args;
use crate::ukr::rounds::{first, next};

/// `$load` brings weights, `$centre` reads v8 for the last time, `$rest` leaves the result in v24.
macro_rules! rows {
    ($args:expr, [$($load:literal),*], [$($centre:literal),+], [$($rest:literal),*]) => {
        std::arch::asm!(
            ".option push",
            ".option arch, +v",
            "beqz a2, 2f",
            first!(),
            "1:",
            $($load,)*
            $($centre,)+
            next!(),
            $($rest,)*
            "vse32.v v24, (a1)",
            "add a1, a1, t2",
            "add a3, a3, t2",
            "add a4, a4, t2",
            "mv t0, t1",
            "vsetvli zero, t0, e32, m8, ta, ma",
            "bnez t0, 1b",
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

/// [`rows`] with the weights that there are.
macro_rules! weighted {
    ($args:expr, [$($centre:literal),+], [$($rest:literal),*]) => {
        match ($args.gamma.is_null(), $args.beta.is_null()) {
            (true, true) => rows!($args, [], [$($centre),+], [$($rest),*]),
            (false, true) => {
                rows!($args, ["vle32.v v16, (a3)"], [$($centre),+], [$($rest,)* "vfmul.vv v24, v24, v16"])
            }
            (true, false) => {
                rows!($args, ["vle32.v v0, (a4)"], [$($centre),+], [$($rest,)* "vfadd.vv v24, v24, v0"])
            }
            (false, false) => rows!(
                $args,
                ["vle32.v v16, (a3)", "vle32.v v0, (a4)"],
                [$($centre),+],
                [$($rest,)* "vfmadd.vv v24, v16, v0"]
            ),
        }
    };
}

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn run(args: &Args) {
    // SAFETY: the assembly touches only the numbers that `Args` lends it.
    unsafe {
        match (args.mean == 0.0, args.residue == 0.0) {
            (true, true) => weighted!(args, ["vfmul.vf v24, v8, f12"], []),
            (_, true) => weighted!(args, ["vfsub.vf v24, v8, f10"], ["vfmul.vf v24, v24, f12"]),
            _ => weighted!(args, ["vfsub.vf v24, v8, f10"], ["vfsub.vf v24, v24, f11", "vfmul.vf v24, v24, f12"]),
        }
    }
}
