//! A row is a group of eight registers: v0-v1 are its codes, v8-v15 its numbers, v16-v23 scales, v24-v31 zero points.

use super::Args;

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn run(args: &Args) {
    // SAFETY: the assembly touches only the numbers that `Args` lends it.
    unsafe {
        std::arch::asm!(
            ".option push",
            ".option arch, +v",
            "beqz a4, 3f",
            "vsetvli zero, a5, e32, m8, ta, ma",
            "vmv.v.i v24, 0",
            "vle32.v v16, (a2)",
            "beqz a3, 2f",
            "vle32.v v24, (a3)",
            "2:",
            "vle8.v v0, (a0)",
            "addi a0, a0, 32",
            "addi a4, a4, -1",
            "vsext.vf4 v8, v0",
            "vfcvt.f.x.v v8, v8",
            "vfsub.vv v8, v8, v24",
            "vfmul.vv v8, v8, v16",
            "vse32.v v8, (a1)",
            "addi a1, a1, 128",
            "bnez a4, 2b",
            "3:",
            ".option pop",
            inout("a0") args.x => _,
            inout("a1") args.y => _,
            in("a2") args.scales,
            in("a3") args.zero_points,
            inout("a4") args.rows => _,
            in("a5") 32usize,
            clobber_abi("C"),
            options(nostack),
        );
    }
}
