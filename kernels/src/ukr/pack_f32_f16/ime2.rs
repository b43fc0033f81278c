//! A round takes 64 numbers of each row: v16-v31 in f32, two registers a row, and v0-v7 in f16. Then blocks of eight numbers of
//! two rows at a time are joined three times, until a register has a block of each row.

use super::Args;
use crate::ukr::ime2_transpose::{join, last, transpose};

/// The kernel for `$args`. Each row has a register for its factor, which is at `$at` in bytes, and for its numbers.
macro_rules! rounds {
    ($args:expr, [$($factor:literal $at:literal $wide:literal $half:literal),+], [$($group:literal),+]) => {
        std::arch::asm!(
            ".option push",
            ".option arch, +v, +zvfh",
            $(concat!("flw ", $factor, ", ", $at, "(a3)"),)+
            "1:",
            "li t0, 64",
            "bgeu a2, t0, 2f",
            "mv t0, a2",
            "vsetvli t1, zero, e32, m8, ta, ma",
            "vmv.v.i v16, 0",
            "vmv.v.i v24, 0",
            "2:",
            "vsetvli zero, t0, e32, m2, tu, ma",
            "mv t1, a0",
            $(
                concat!("vle32.v ", $wide, ", (t1)"),
                "add t1, t1, a5",
            )+
            "vsetvli t1, zero, e32, m2, ta, ma",
            $(concat!("vfmul.vf ", $wide, ", ", $wide, ", ", $factor),)+
            "vsetvli t1, zero, e16, m1, ta, ma",
            $(concat!("vfncvt.f.f.w ", $half, ", ", $wide),)+
            transpose!(1, [8 "", 10 "", 12 "", 14 ""]),
            "sub a2, a2, t0",
            "slli t1, t0, 2",
            "add a0, a0, t1",
            $(
                concat!("vs1r.v ", $group, ", (a1)"),
                "add a1, a1, a4",
                "addi t0, t0, -8",
                "blez t0, 3f",
            )+
            "3:",
            "bnez a2, 1b",
            ".option pop",
            inout("a0") $args.x => _,
            inout("a1") $args.y => _,
            inout("a2") $args.k => _,
            in("a3") $args.factors,
            in("a4") $args.y_stride,
            in("a5") $args.x_stride,
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
        rounds!(
            args,
            [
                "f0" "0" "v16" "v0",
                "f1" "4" "v18" "v1",
                "f2" "8" "v20" "v2",
                "f3" "12" "v22" "v3",
                "f4" "16" "v24" "v4",
                "f5" "20" "v26" "v5",
                "f6" "24" "v28" "v6",
                "f7" "28" "v30" "v7"
            ],
            ["v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15"]
        )
    }
}
