//! Groups of eight registers in 32 bits: v8 is the number on its way.

use super::Args;

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn run(args: &Args) {
    // The bounds are whole numbers, so clamping before rounding changes nothing but NaN and what i32 cannot hold.
    let (low, high) = (-args.zero_point as f32, (255 - args.zero_point) as f32);
    // SAFETY: the assembly touches only the numbers that `Args` lends it.
    unsafe {
        std::arch::asm!(
            ".option push",
            ".option arch, +v",
            "beqz a2, 2f",
            "1:",
            "vsetvli a5, a2, e32, m8, ta, ma",
            "vle32.v v8, (a0)",
            "vfdiv.vf v8, v8, f10",
            "vfmax.vf v8, v8, f11",
            "vfmin.vf v8, v8, f12",
            "vfcvt.x.f.v v8, v8",
            "vadd.vx v8, v8, a3",
            "vsetvli zero, zero, e16, m4, ta, ma",
            "vnsrl.wi v16, v8, 0",
            "vsetvli zero, zero, e8, m2, ta, ma",
            "vnsrl.wi v20, v16, 0",
            "vxor.vx v20, v20, a4",
            "vse8.v v20, (a1)",
            "sub a2, a2, a5",
            "add a1, a1, a5",
            "slli a5, a5, 2",
            "add a0, a0, a5",
            "bnez a2, 1b",
            "2:",
            ".option pop",
            inout("a0") args.x => _,
            inout("a1") args.y => _,
            inout("a2") args.len => _,
            in("a3") args.zero_point,
            in("a4") usize::from(args.flip),
            in("f10") args.scale,
            in("f11") low,
            in("f12") high,
            clobber_abi("C"),
            options(nostack),
        );
    }
}
