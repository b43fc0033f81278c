//! Strided loads, groups of eight registers.

use super::{Args, scalar};

/// Columns from which on a strided load is faster than scalar ones.
const LEAST: usize = 16;

/// The elements of `$bits` bits, `2^$shift` bytes, or the type `$type`.
macro_rules! width {
    ($name:ident, $type:ty, $bits:literal, $shift:literal) => {
        /// # Safety
        /// The contract of [`Args`], on a core that meets the needs of its row in the table.
        pub unsafe fn $name(args: &Args) {
            if args.columns < LEAST {
                // SAFETY: the caller's promise.
                return unsafe { scalar::elements::<$type>(args) };
            }
            for row in 0..args.rows {
                // SAFETY: the assembly touches only the elements that `Args` lends it.
                unsafe {
                    std::arch::asm!(
                        ".option push",
                        ".option arch, +v",
                        "beqz a2, 2f",
                        "1:",
                        concat!("vsetvli a4, a2, e", $bits, ", m8, ta, ma"),
                        concat!("vlse", $bits, ".v v8, (a0), a3"),
                        concat!("vse", $bits, ".v v8, (a1)"),
                        "sub a2, a2, a4",
                        "mul a5, a4, a3",
                        "add a0, a0, a5",
                        concat!("slli a4, a4, ", $shift),
                        "add a1, a1, a4",
                        "bnez a2, 1b",
                        "2:",
                        ".option pop",
                        inout("a0") args.x.add(row << $shift) => _,
                        inout("a1") args.y.add(row * args.y_stride) => _,
                        inout("a2") args.columns => _,
                        in("a3") args.x_stride,
                        clobber_abi("C"),
                        options(nostack),
                    );
                }
            }
        }
    };
}

width!(bits_8, u8, 8, 0);
width!(bits_16, u16, 16, 1);
width!(bits_32, u32, 32, 2);
width!(bits_64, u64, 64, 3);
