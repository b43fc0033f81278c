//! Two rows by 32 columns, for any VLEN from 128 on.
//!
//! | registers | |
//! |---|---|
//! | v0-v1, v4-v7 | one step of `B`, and the same widened to 16 bits |
//! | v8-v23 | sums of a group, eight registers a row |
//! | v0-v7, v24-v31 | when a group ends: what belongs to its columns, and a row of `C` |

use super::Args;

/// Computes the rows that are listed, each as `number register sum`.
macro_rules! rows_kernel {
    ($args:expr, $rows:literal, $($row:literal $a:literal $sum:literal),+) => {
        std::arch::asm!(
            ".option push",
            ".option arch, +v",
            "beqz a0, 4f",
            "1:",
            "vsetvli zero, t2, e32, m8, ta, ma",
            $(concat!("vmv.v.i ", $sum, ", 0"),)+
            "vsetvli zero, t2, e16, m4, ta, ma",
            "add t3, a1, t4",
            "2:",
            "vle8.v v0, (a2)",
            "vsext.vf2 v4, v0",
            $(concat!("lb ", $a, ", ", $row, "(a1)"),)+
            "addi a2, a2, 32",
            concat!("addi a1, a1, ", $rows),
            $(concat!("vwmacc.vx ", $sum, ", ", $a, ", v4"),)+
            "bltu a1, t3, 2b",
            "vsetvli zero, t2, e32, m8, ta, ma",
            $(concat!("vfcvt.f.x.v ", $sum, ", ", $sum),)+
            "beqz a6, 3f",
            "vle32.v v0, (a6)",
            $(
                concat!("flw f0, 4 * ", $row, "(a4)"),
                concat!("vfnmsac.vf ", $sum, ", f0, v0"),
            )+
            "addi a6, a6, 128",
            concat!("addi a4, a4, 4 * ", $rows),
            "3:",
            "vle32.v v0, (a5)",
            "mv t3, a7",
            $(
                concat!("flw f0, 4 * ", $row, "(a3)"),
                "vle32.v v24, (t3)",
                concat!("vfmul.vf ", $sum, ", ", $sum, ", f0"),
                concat!("vfmacc.vv v24, ", $sum, ", v0"),
                "vse32.v v24, (t3)",
                "addi t3, t3, 128",
            )+
            "addi a5, a5, 128",
            concat!("addi a3, a3, 4 * ", $rows),
            "addi a0, a0, -1",
            "bnez a0, 1b",
            "4:",
            ".option pop",
            inout("a0") $args.groups => _,
            inout("a1") $args.a => _,
            inout("a2") $args.b => _,
            inout("a3") $args.a_scales => _,
            inout("a4") $args.a_sums => _,
            inout("a5") $args.b_scales => _,
            inout("a6") $args.b_zero_points => _,
            in("a7") $args.c,
            in("t2") 32usize,
            in("t4") $args.k_groups * $rows,
            clobber_abi("C"),
            options(nostack),
        )
    };
}

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn run(args: &Args) {
    // SAFETY: the assembly touches only what `Args` lends it, for `args.rows` rows.
    unsafe {
        match args.rows {
            1 => rows_kernel!(args, 1, 0 "t0" "v8"),
            _ => rows_kernel!(args, 2, 0 "t0" "v8", 1 "t1" "v16"),
        }
    }
}
