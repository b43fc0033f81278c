//! The exponential of `ukr::unary_f32`; v28-v31 are the lanes of the sum.

use super::Args;
use crate::ukr::unary_f32::wide::{CONSTANTS, constant, exp, exp_parts};

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn run(args: &Args) {
    // SAFETY: the assembly touches only the numbers that `Args` lends it.
    unsafe {
        std::arch::asm!(
            ".option push",
            ".option arch, +v",
            "fcvt.d.s f10, f10",
            "vsetvli a3, zero, e64, m4, ta, ma",
            "vmv.v.i v28, 0",
            "1:",
            "beqz a2, 2f",
            "vsetvli a3, a2, e32, m2, ta, ma",
            "vle32.v v4, (a0)",
            "vfwcvt.f.f.v v8, v4",
            "vsetvli zero, zero, e64, m4, tu, ma",
            "vfsub.vf v8, v8, f10",
            "vmv.v.v v24, v8",
            exp!(),
            "vmfne.vv v0, v24, v24",
            "vmerge.vvm v12, v12, v24, v0",
            "vfadd.vv v28, v28, v12",
            "vsetvli zero, zero, e32, m2, ta, ma",
            "vfncvt.f.f.w v4, v12",
            "vse32.v v4, (a1)",
            "sub a2, a2, a3",
            "slli a3, a3, 2",
            "add a0, a0, a3",
            "add a1, a1, a3",
            "j 1b",
            "2:",
            "vsetvli a3, zero, e64, m4, ta, ma",
            "vmv.v.i v8, 0",
            "vfredusum.vs v8, v28, v8",
            "vfmv.f.s f0, v8",
            "fsd f0, 0(a4)",
            ".option pop",
            inout("a0") args.x => _,
            inout("a1") args.y => _,
            inout("a2") args.len => _,
            in("a4") args.sum,
            in("a5") CONSTANTS.as_ptr(),
            in("f10") args.shift,
            clobber_abi("C"),
            options(nostack),
        );
    }
}
