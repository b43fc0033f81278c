//! Groups of eight registers, of one row after the other: v8 is `x`, v16 `gamma`, v0 `beta`, v24 the result. The next row's numbers, or
//! behind the last row the next group's of the first one, come while those before are worked on.

use super::Args;

/// `$load` brings weights, `$centre` reads v8 for the last time, `$rest` leaves the result in v24; the mean, the residue and the scale
/// of a row are in f10 to f12.
macro_rules! rows {
    ($args:expr, [$($load:literal),*], [$($centre:literal),+], [$($rest:literal),*]) => {
        std::arch::asm!(
            ".option push",
            ".option arch, +v",
            "beqz a6, 5f",
            "beqz a5, 5f",
            "vsetvli t0, a5, e32, m8, ta, ma",
            "vle32.v v8, (a0)",
            "1:",
            $($load,)*
            "mv t1, a0",
            "mv t2, a1",
            "mv t3, a6",
            "mv t4, a7",
            "2:",
            "flw f10, 0(t4)",
            "flw f11, 4(t4)",
            "flw f12, 8(t4)",
            "addi t4, t4, 12",
            "addi t3, t3, -1",
            "add t1, t1, s2",
            $($centre,)+
            "bnez t3, 3f",
            "slli t5, t0, 2",
            "add a0, a0, t5",
            "sub a5, a5, t0",
            "vsetvli t6, a5, e32, m8, ta, ma",
            "vle32.v v8, (a0)",
            "vsetvli zero, t0, e32, m8, ta, ma",
            "j 4f",
            "3:",
            "vle32.v v8, (t1)",
            "4:",
            $($rest,)*
            "vse32.v v24, (t2)",
            "add t2, t2, s3",
            "bnez t3, 2b",
            "add a1, a1, t5",
            "add a3, a3, t5",
            "add a4, a4, t5",
            "mv t0, t6",
            "vsetvli zero, t0, e32, m8, ta, ma",
            "bnez t0, 1b",
            "5:",
            ".option pop",
            inout("a0") $args.x => _,
            inout("a1") $args.y => _,
            inout("a3") $args.gamma => _,
            inout("a4") $args.beta => _,
            inout("a5") $args.len => _,
            in("a6") $args.rows,
            in("a7") $args.moments,
            in("s2") $args.x_stride,
            in("s3") $args.y_stride,
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
        let moments = std::slice::from_raw_parts(args.moments, args.rows);
        match [0, 1].map(|of| moments.iter().all(|moments| moments[of] == 0.0)) {
            [true, true] => weighted!(args, ["vfmul.vf v24, v8, f12"], []),
            [_, true] => weighted!(args, ["vfsub.vf v24, v8, f10"], ["vfmul.vf v24, v24, f12"]),
            _ => weighted!(args, ["vfsub.vf v24, v8, f10"], ["vfsub.vf v24, v24, f11", "vfmul.vf v24, v24, f12"]),
        }
    }
}
