//! The last four rows by 16 columns: four tiles of 4x4x8 across.
//!
//! | registers | |
//! |---|---|
//! | v0-v7 | sums of a group, a pair of registers a tile: rows 0, 1 and rows 2, 3 |
//! | v8-v15 | `C` in the same order |
//! | v16-v19, v20-v23 | a step of `B` each, a register a tile |
//! | v24-v25 | two steps of `A` |
//! | v24-v25, v26-v27 | sums and scales of the rows of a group |
//! | v20-v23 | when a group ends: what belongs to its columns, while the next step arrives |
//!
//! Sums begin at `O = 1.5 * 2^23` in the bits of a float. Up to 2^22 they then are `O + d` as floats without a conversion, and
//! an exact subtraction leaves `d`.

use super::Args;
use crate::ukr::dot::dot;

/// The products of a step, the first or the second of a pair.
macro_rules! dots {
    (first) => {
        concat!(dot!(0, 24, 16), dot!(2, 24, 17), dot!(4, 24, 18), dot!(6, 24, 19))
    };
    (second) => {
        concat!(dot!(0, 25, 20), dot!(2, 25, 21), dot!(4, 25, 22), dot!(6, 25, 23))
    };
}

/// The products of a group, up to t1, and the first load of the next one if there is any, while which a0 is not 0. Steps come
/// in `pairs` or in `quads`.
macro_rules! products {
    (quads) => {
        concat!(
            "2:\n vl4re8.v v20, (a2)\n addi a2, a2, 4 * 32\n addi a1, a1, 2 * 32\n",
            dots!(first),
            "vl4re8.v v16, (a2)\n addi a2, a2, 4 * 32\n",
            dots!(second),
            "vl2re8.v v24, (a1)\n",
            products!(last)
        )
    };
    (pairs) => {
        concat!("2:\n", products!(last))
    };
    (last) => {
        concat!(
            "vl4re8.v v20, (a2)\n addi a2, a2, 4 * 32\n addi a1, a1, 2 * 32\n",
            dots!(first),
            "bgeu a1, t1, 3f\n vl4re8.v v16, (a2)\n addi a2, a2, 4 * 32\n",
            dots!(second),
            "vl2re8.v v24, (a1)\n j 2b\n",
            "3:\n beqz a0, 4f\n vl4re8.v v16, (a2)\n addi a2, a2, 4 * 32\n 4:\n",
            dots!(second),
        )
    };
}

/// The kernel for `$args`, whose steps come in `$steps`. Then the registers of each tile: of its sums, of `C`, and of its
/// columns.
macro_rules! kernel {
    ($args:expr, $steps:ident) => {
        kernel!(
            $args, $steps, [0 1 8 9 20] [2 3 10 11 21] [4 5 12 13 22] [6 7 14 15 23]
        )
    };
    ($args:expr, $steps:ident, $([$low:literal $high:literal $c_low:literal $c_high:literal $of:literal])+) => {
        std::arch::asm!(
            ".option push",
            ".option arch, +v",
            "beqz a0, 7f",
            "vl4re8.v v16, (a2)",
            "addi a2, a2, 4 * 32",
            "vl8re32.v v8, (a7)",
            "fmv.w.x f0, t6",
            "vsetvli t0, zero, e32, m8, ta, ma",
            "vmv.v.x v0, t6",
            "1:",
            "vl2re8.v v24, (a1)",
            "vl2re32.v v26, (a3)",
            "addi a3, a3, 2 * 32",
            "vsetvli t0, zero, e8, m1, ta, ma",
            "addi a0, a0, -1",
            "add t1, a1, t2",
            products!($steps),
            "vsetvli t0, zero, e32, m2, ta, ma",
            $(concat!("vfsub.vf v", $low, ", v", $low, ", f0"),)+
            "beqz a6, 5f",
            "vl2re32.v v24, (a4)",
            "addi a4, a4, 2 * 32",
            "vl4re32.v v20, (a6)",
            "addi a6, a6, 4 * 32",
            "vsetvli t0, zero, e32, m1, ta, ma",
            $(
                concat!("vfnmsac.vv v", $low, ", v", $of, ", v24"),
                concat!("vfnmsac.vv v", $high, ", v", $of, ", v25"),
            )+
            "vsetvli t0, zero, e32, m2, ta, ma",
            "5:",
            "vl4re32.v v20, (a5)",
            "addi a5, a5, 4 * 32",
            $(concat!("vfmul.vv v", $low, ", v", $low, ", v26"),)+
            "vsetvli t0, zero, e32, m1, ta, ma",
            $(
                concat!("vfmacc.vv v", $c_low, ", v", $low, ", v", $of),
                concat!("vfmacc.vv v", $c_high, ", v", $high, ", v", $of),
                concat!("vmv.v.x v", $low, ", t6"),
                concat!("vmv.v.x v", $high, ", t6"),
            )+
            "bnez a0, 1b",
            "vs8r.v v8, (a7)",
            "7:",
            ".option pop",
            inout("a0") $args.groups => _,
            inout("a1") $args.a => _,
            inout("a2") $args.b => _,
            inout("a3") $args.a_scales => _,
            inout("a4") $args.a_sums => _,
            inout("a5") $args.b_scales => _,
            inout("a6") $args.b_zero_points => _,
            in("a7") $args.c,
            in("t2") $args.k_groups * 32,
            in("t6") 0x4b40_0000usize,
            clobber_abi("C"),
            options(nostack),
        )
    };
}

/// # Safety
/// The contract of [`Args`] for four rows, on a core with such matrix instructions.
pub unsafe fn run(args: &Args) {
    // SAFETY: the assembly touches only what `Args` lends it.
    unsafe {
        match args.k_groups {
            2 => kernel!(args, pairs),
            _ => kernel!(args, quads),
        }
    }
}
