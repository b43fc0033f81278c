//! Smallest and largest number: v8-v15 and v16-v23 are their lanes, v24-v31 numbers.

use super::Args;

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn run(args: &Args) {
    // SAFETY: the assembly touches only the numbers that `Args` lends it.
    unsafe {
        std::arch::asm!(
            ".option push",
            ".option arch, +v",
            "li a4, 0x7f800000",
            "fmv.w.x f0, a4",
            "vsetvli a3, zero, e32, m8, ta, ma",
            "vfmv.v.f v8, f0",
            "vfneg.v v16, v8",
            "1:",
            "beqz a1, 2f",
            "vsetvli a3, a1, e32, m8, tu, ma",
            "vle32.v v24, (a0)",
            "vfmin.vv v8, v8, v24",
            "vfmax.vv v16, v16, v24",
            "sub a1, a1, a3",
            "slli a3, a3, 2",
            "add a0, a0, a3",
            "j 1b",
            "2:",
            "vsetvli a3, zero, e32, m8, ta, ma",
            "vfredmin.vs v24, v8, v8",
            "vfmv.f.s f0, v24",
            "vfredmax.vs v24, v16, v16",
            "vfmv.f.s f1, v24",
            "fcvt.d.s f0, f0",
            "fcvt.d.s f1, f1",
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
