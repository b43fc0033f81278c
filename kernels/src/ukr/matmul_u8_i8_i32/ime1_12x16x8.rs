//! Twelve rows by 16 columns in tiles of 4x4x8: three tiles down, four across.
//!
//! | registers | |
//! |---|---|
//! | v0-v23 | sums, a pair of registers a tile: rows 0, 1 and rows 2, 3 |
//! | v24-v26 | one group of `A`, a register a tile |
//! | v28-v31 | one group of `B`, a register a tile |
//!
//! Whole-register loads leave `vtype` alone, so nothing but loads, products and pointers is in the loop.

use super::Args;

/// `smt.vmadotus vd, vs1, vs2`: unsigned `A` times signed `B`, added to the pair `vd`.
macro_rules! dot {
    ($d:literal, $a:literal, $b:literal) => {
        concat!(".insn r 0x2b, 1, 0x71, x", $d, ", x", $a, ", x", $b)
    };
}

/// The tiles of `A` that are listed, each as `register [sums of the four tiles]`. `$load_a` loads them from `a1` and from
/// `a5`, two tiles ahead.
macro_rules! tiles_kernel {
    ($args:expr, [$($load_a:literal),+] by $a_bytes:literal, $($a:literal [$c0:literal $c1:literal $c2:literal $c3:literal]),+) => {
        std::arch::asm!(
            ".option push",
            ".option arch, +v",
            "vsetvli a7, zero, e8, m8, ta, ma",
            $(concat!("vmv.v.i v", $c0, ", 0"),)+
            "beqz a0, 3f",
            "vsetvli a7, zero, e8, m1, ta, ma",
            "2:",
            "vl4re8.v v28, (a2)",
            $($load_a,)+
            "addi a0, a0, -1",
            "addi a2, a2, 128",
            concat!("addi a1, a1, ", $a_bytes),
            concat!("addi a5, a5, ", $a_bytes),
            $(dot!($c0, $a, 28),)+
            $(dot!($c1, $a, 29),)+
            $(dot!($c2, $a, 30),)+
            $(dot!($c3, $a, 31),)+
            "bnez a0, 2b",
            "3:",
            // A tile is stored as eight pairs of numbers, which have these offsets.
            "vsetvli a7, zero, e64, m2, ta, ma",
            "vid.v v24",
            "vsrl.vi v26, v24, 1",
            "vmul.vx v26, v26, a4",
            "vand.vi v24, v24, 1",
            "vsll.vi v24, v24, 3",
            "vadd.vv v24, v24, v26",
            "slli a4, a4, 2",
            "addi a4, a4, -48",
            $(
                concat!("vsuxei64.v v", $c0, ", (a3), v24"),
                "addi a3, a3, 16",
                concat!("vsuxei64.v v", $c1, ", (a3), v24"),
                "addi a3, a3, 16",
                concat!("vsuxei64.v v", $c2, ", (a3), v24"),
                "addi a3, a3, 16",
                concat!("vsuxei64.v v", $c3, ", (a3), v24"),
                "add a3, a3, a4",
            )+
            ".option pop",
            inout("a0") $args.k_groups => _,
            inout("a1") $args.a => _,
            inout("a5") $args.a.wrapping_add(64) => _,
            inout("a2") $args.b => _,
            inout("a3") $args.c => _,
            inout("a4") $args.c_stride => _,
            out("a7") _,
            clobber_abi("C"),
            options(nostack),
        )
    };
}

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn run(args: &Args) {
    // SAFETY: the assembly touches only what `Args` lends it, for `args.rows` rows.
    unsafe {
        match args.rows {
            4 => tiles_kernel!(args, ["vl1re8.v v24, (a1)"] by 32, 24 [0 2 4 6]),
            8 => tiles_kernel!(args, ["vl2re8.v v24, (a1)"] by 64, 24 [0 2 4 6], 25 [8 10 12 14]),
            _ => tiles_kernel!(
                args, ["vl2re8.v v24, (a1)", "vl1re8.v v26, (a5)"] by 96,
                24 [0 2 4 6], 25 [8 10 12 14], 26 [16 18 20 22]
            ),
        }
    }
}
