//! The sum, in f64: v0-v3 are numbers, v16-v23 the lanes of the sum.

use super::Args;

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn run(args: &Args) {
    // SAFETY: the assembly touches only the numbers that `Args` lends it.
    unsafe {
        std::arch::asm!(
            ".option push",
            ".option arch, +v",
            "vsetvli a3, zero, e64, m8, ta, ma",
            "vmv.v.i v16, 0",
            "1:",
            "beqz a1, 2f",
            "vsetvli a3, a1, e32, m4, tu, ma",
            "vle32.v v0, (a0)",
            "vfwadd.wv v16, v16, v0",
            "sub a1, a1, a3",
            "slli a3, a3, 2",
            "add a0, a0, a3",
            "j 1b",
            "2:",
            "vsetvli a3, zero, e64, m8, ta, ma",
            "vmv.v.i v8, 0",
            "vfredusum.vs v8, v16, v8",
            "vfmv.f.s f0, v8",
            "fsd f0, 0(a2)",
            "sd zero, 8(a2)",
            ".option pop",
            inout("a0") args.x => _,
            inout("a1") args.len => _,
            in("a2") args.result,
            in("f10") args.shift,
            clobber_abi("C"),
            options(nostack),
        );
    }
}
