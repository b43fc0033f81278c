//! Groups of up to eight registers: v8 is `b` and the result, v16 is `a`; elements that repeat are in a6 and a7.

use super::Args;

/// The elements of `$bits` bits, `2^$shift` bytes, in groups `$group`; as many bytes are in groups `$bytes`.
macro_rules! width {
    ($name:ident, $bits:literal, $type:ty, $group:literal, $bytes:literal, $shift:literal) => {
        /// # Safety
        /// The contract of [`Args`], on a core that meets the needs of its row in the table.
        pub unsafe fn $name(args: &Args) {
            if args.len == 0 {
                return;
            }
            // SAFETY: every operand has a first element.
            let [a, b] = [args.a, args.b].map(|x| unsafe { x.cast::<$type>().read() });
            // SAFETY: the assembly touches only the elements that `Args` lends it, none of an operand that repeats.
            unsafe {
                std::arch::asm!(
                    ".option push",
                    ".option arch, +v",
                    "1:",
                    concat!("vsetvli a5, a4, e8, ", $bytes, ", ta, ma"),
                    "vle8.v v24, (a0)",
                    "vmsne.vi v0, v24, 0",
                    concat!("vsetvli zero, zero, e", $bits, ", ", $group, ", ta, ma"),
                    "bnez t1, 2f",
                    concat!("vle", $bits, ".v v8, (a2)"),
                    "j 3f",
                    "2:",
                    "vmv.v.x v8, a7",
                    "3:",
                    "bnez t0, 4f",
                    concat!("vle", $bits, ".v v16, (a1)"),
                    "vmerge.vvm v8, v8, v16, v0",
                    "j 5f",
                    "4:",
                    "vmerge.vxm v8, v8, a6, v0",
                    "5:",
                    concat!("vse", $bits, ".v v8, (a3)"),
                    "sub a4, a4, a5",
                    "add a0, a0, a5",
                    concat!("slli a5, a5, ", $shift),
                    "add a1, a1, a5",
                    "add a2, a2, a5",
                    "add a3, a3, a5",
                    "bnez a4, 1b",
                    ".option pop",
                    inout("a0") args.condition => _,
                    inout("a1") args.a => _,
                    inout("a2") args.b => _,
                    inout("a3") args.y => _,
                    inout("a4") args.len => _,
                    in("a6") u64::from(a),
                    in("a7") u64::from(b),
                    in("t0") usize::from(args.a_repeats),
                    in("t1") usize::from(args.b_repeats),
                    clobber_abi("C"),
                    options(nostack),
                );
            }
        }
    };
}

width!(bits_8, 8, u8, "m8", "m8", 0);
width!(bits_16, 16, u16, "m8", "m4", 1);
width!(bits_32, 32, u32, "m8", "m2", 2);
width!(bits_64, 64, u64, "m8", "m1", 3);
