//! v8-v11 are f16, v16-v23 are f32.

use super::Args;

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn run(args: &Args) {
    // SAFETY: the assembly touches only the numbers that `Args` lends it.
    unsafe {
        std::arch::asm!(
            ".option push",
            ".option arch, +v, +zvfhmin",
            "beqz a2, 2f",
            "1:",
            "vsetvli a3, a2, e16, m4, ta, ma",
            "vle32.v v16, (a0)",
            "vfncvt.f.f.w v8, v16",
            "vse16.v v8, (a1)",
            "sub a2, a2, a3",
            "slli a4, a3, 2",
            "add a0, a0, a4",
            "slli a4, a3, 1",
            "add a1, a1, a4",
            "bnez a2, 1b",
            "2:",
            ".option pop",
            inout("a0") args.x => _,
            inout("a1") args.y => _,
            inout("a2") args.len => _,
            clobber_abi("C"),
            options(nostack),
        );
    }
}
