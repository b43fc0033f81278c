//! Strided loads, groups of eight registers.

use super::Args;

/// The elements of `$bits` bits, `2^$shift` bytes.
macro_rules! width {
    ($name:ident, $bits:literal, $shift:literal) => {
        /// # Safety
        /// The contract of [`Args`], on a core that meets the needs of its row in the table.
        pub unsafe fn $name(args: &Args) {
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

width!(bits_8, 8, 0);
width!(bits_16, 16, 1);
width!(bits_32, 32, 2);
width!(bits_64, 64, 3);
