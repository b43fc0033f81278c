//! Sums of differences and of their squares, in f64: v8-v15 are differences, v16-v31 the lanes of the sums.

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
            "vmv.v.i v24, 0",
            "1:",
            "beqz a1, 2f",
            "vsetvli a3, a1, e32, m4, ta, ma",
            "vle32.v v0, (a0)",
            "vfwcvt.f.f.v v8, v0",
            "vsetvli zero, zero, e64, m8, tu, ma",
            "vfsub.vf v8, v8, f10",
            "vfadd.vv v16, v16, v8",
            "vfmacc.vv v24, v8, v8",
            "sub a1, a1, a3",
            "slli a3, a3, 2",
            "add a0, a0, a3",
            "j 1b",
            "2:",
            "vsetvli a3, zero, e64, m8, ta, ma",
            "vmv.v.i v8, 0",
            "vfredusum.vs v0, v16, v8",
            "vfmv.f.s f0, v0",
            "vfredusum.vs v0, v24, v8",
            "vfmv.f.s f1, v0",
            "fsd f0, 0(a2)",
            "fsd f1, 8(a2)",
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
