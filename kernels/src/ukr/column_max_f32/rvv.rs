//! Groups of four registers, which hold one row, two or four: v0 and v4 by turns; v8 are the lanes of the results.

use super::Args;
use crate::ukr::rounds::{fold_columns, halve};

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn run(args: &Args) {
    // SAFETY: the assembly touches only the numbers that `Args` lends it.
    unsafe {
        std::arch::asm!(
            ".option push",
            ".option arch, +v",
            "vsetvli t0, zero, e32, m4, ta, ma",
            "slli t2, t0, 2",
            "vfmv.v.f v8, f10",
            "vle32.v v0, (a0)",
            "1:",
            "sub a1, a1, t0",
            "add a0, a0, t2",
            "beqz a1, 2f",
            "vle32.v v4, (a0)",
            "vfmax.vv v8, v8, v0",
            "sub a1, a1, t0",
            "add a0, a0, t2",
            "beqz a1, 3f",
            "vle32.v v0, (a0)",
            "vfmax.vv v8, v8, v4",
            "j 1b",
            "2:",
            "vmv4r.v v4, v0",
            "3:",
            "vfmax.vv v8, v8, v4",
            fold_columns!("vfmax.vv", 8, 10, 9),
            "vle32.v v0, (a2)",
            "vfmax.vv v8, v8, v0",
            "vse32.v v8, (a2)",
            ".option pop",
            inout("a0") args.x => _,
            inout("a1") args.rows * super::COLUMNS => _,
            in("a2") args.max,
            in("f10") f32::NEG_INFINITY,
            clobber_abi("C"),
            options(nostack),
        );
    }
}
