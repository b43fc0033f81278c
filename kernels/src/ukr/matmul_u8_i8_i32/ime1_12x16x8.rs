//! Twelve rows by 16 columns in tiles of 4x4x8: three tiles down, four across.
//!
//! | registers | |
//! |---|---|
//! | v0-v23 | sums, a pair of registers a tile: rows 0, 1 and rows 2, 3 |
//! | v24-v26 | one group of `A`, a register a tile |
//! | v28-v31 | one group of `B`, a register a tile |
//!
//! Products keep their operands until they are done, so a register is loaded again some products after its last one, in the
//! order in which the next group wants them. Whole-register loads leave `vtype` alone, so nothing but loads, products and
//! pointers is in the loop.

use super::Args;

/// A step of the loop: a product of the tiles `$a` and `$b`, unsigned times signed, added to the pair `$c` (`smt.vmadotus`);
/// or the next tile of `A`, or two of `B`. What is `ahead` belongs to the next group, which the `last` one has not.
macro_rules! step {
    ($round:ident dot $c:literal $a:literal $b:literal) => {
        concat!(".insn r 0x2b, 1, 0x71, x", $c, ", x", $a, ", x", $b)
    };
    ($round:ident a $register:literal) => {
        concat!("vl1re8.v v", $register, ", (a1)\n addi a1, a1, 32")
    };
    ($round:ident b $register:literal) => {
        concat!("vl2re8.v v", $register, ", (a2)\n addi a2, a2, 64")
    };
    (last ahead $($load:tt)+) => {
        ""
    };
    (every ahead $($load:tt)+) => {
        step!(every $($load)+)
    };
}

/// The sums `$c` of the tiles, four in a row of tiles: `$first` are the loads before the loop, `$step` the steps of it.
macro_rules! tiles_kernel {
    ($args:expr, [$([$($first:tt)+])+] [$([$($step:tt)+])+] $([$c0:literal $c1:literal $c2:literal $c3:literal])+) => {
        std::arch::asm!(
            ".option push",
            ".option arch, +v",
            "vsetvli a7, zero, e8, m8, ta, ma",
            $(concat!("vmv.v.i v", $c0, ", 0"),)+
            "beqz a0, 4f",
            "vsetvli a7, zero, e8, m1, ta, ma",
            $(step!(every $($first)+),)+
            "addi a0, a0, -1",
            "beqz a0, 3f",
            "2:",
            "addi a0, a0, -1",
            $(step!(every $($step)+),)+
            "bnez a0, 2b",
            "3:",
            $(step!(last $($step)+),)+
            "4:",
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
            4 => tiles_kernel!(
                args,
                [[b 28] [a 24] [b 30]]
                [
                    [dot 0 24 28] [dot 2 24 29] [dot 4 24 30] [dot 6 24 31]
                    [ahead b 28] [ahead a 24] [ahead b 30]
                ]
                [0 2 4 6]
            ),
            8 => tiles_kernel!(
                args,
                [[b 28] [a 24] [a 25]]
                [
                    [dot 0 24 28] [b 30] [dot 2 24 29] [dot 8 25 28] [dot 10 25 29]
                    [dot 4 24 30] [dot 6 24 31] [ahead b 28] [dot 12 25 30] [ahead a 24] [dot 14 25 31] [ahead a 25]
                ]
                [0 2 4 6] [8 10 12 14]
            ),
            _ => tiles_kernel!(
                args,
                [[b 28] [a 24] [a 25]]
                [
                    [dot 0 24 28] [dot 2 24 29] [a 26] [dot 8 25 28] [b 30] [dot 10 25 29]
                    [dot 16 26 28] [dot 18 26 29] [dot 4 24 30] [dot 6 24 31] [ahead b 28] [dot 12 25 30]
                    [dot 14 25 31] [dot 20 26 30] [ahead a 24] [dot 22 26 31] [ahead a 25]
                ]
                [0 2 4 6] [8 10 12 14] [16 18 20 22]
            ),
        }
    }
}
