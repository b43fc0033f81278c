//! v0-v7 are eight rows of f32, v16-v19 the same in f16, two rows a register, which are joined number by number three times: first
//! rows 0 and 4, 1 and 5, 2 and 6, 3 and 7; then even and odd ones.

use super::Args;
use crate::ukr::ime2_transpose::join;

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn run(args: &Args) {
    // SAFETY: the assembly touches only the numbers that `Args` lends it.
    unsafe {
        std::arch::asm!(
            ".option push",
            ".option arch, +v, +zvfh",
            "beqz a2, 3f",
            "vl8re32.v v0, (a0)",
            "1:",
            "addi a2, a2, -1",
            "addi a0, a0, 1024",
            "vsetvli t0, zero, e16, m4, ta, ma",
            "vfncvt.f.f.w v16, v0",
            "beqz a2, 2f",
            "vl8re32.v v0, (a0)",
            "2:",
            "vsetvli t0, zero, e16, m1, ta, ma",
            join!(0 20 = 16 18),
            join!(0 22 = 17 19),
            join!(0 24 = 20 22),
            join!(0 26 = 21 23),
            join!(0 28 = 24 26),
            join!(0 30 = 25 27),
            "vs4r.v v28, (a1)",
            "addi a1, a1, 512",
            "bnez a2, 1b",
            "3:",
            ".option pop",
            inout("a0") args.x => _,
            inout("a1") args.y => _,
            inout("a2") args.groups => _,
            clobber_abi("C"),
            options(nostack),
        );
    }
}
