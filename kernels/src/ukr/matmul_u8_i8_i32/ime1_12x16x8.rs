//! Twelve rows by 16 columns in tiles of 4x4x8: three tiles down, four across.
//!
//! | registers | |
//! |---|---|
//! | v0-v23 | sums, a pair of registers a tile: rows 0, 1 and rows 2, 3 |
//! | v24-v27 | tiles of `A`: with three of them a pair, and the third one in turn in v26 and v27 |
//! | v28-v29, v30-v31 | pairs of tiles of `B` |
//!
//! Products keep their operands until they are done, so a register is loaded again some products after its last one, and the
//! products are in an order that leaves others to do meanwhile. Of three tiles the next group's third one is loaded before its
//! first two; of one or two the registers change their roles, and after four groups all is as before. Whole-register loads leave
//! `vtype` alone, so nothing but loads, products, pointers and hints is in the loop.

use super::Args;
use crate::ukr::lines::ask;

/// A step of the loop: a product of the tiles `$a` and `$b`, unsigned times signed, added to the pair `$c` (`smt.vmadotus`); some
/// tiles of `A`, after which its pointer moves on; two of `B`; or lines that are asked for. What is `ahead` belongs to the next
/// group, which the `last` one has not.
macro_rules! step {
    ($round:ident dot $c:literal $a:literal $b:literal) => {
        concat!(".insn r 0x2b, 1, 0x71, x", $c, ", x", $a, ", x", $b, "\n")
    };
    ($round:ident a $count:literal $register:literal by $bytes:literal) => {
        concat!("vl", $count, "re8.v v", $register, ", (a1)\n addi a1, a1, ", $bytes, "\n")
    };
    ($round:ident b $register:literal) => {
        concat!("vl2re8.v v", $register, ", (a2)\n addi a2, a2, 64\n")
    };
    ($round:ident ask $($lines:ident)?) => {
        ask!($($lines)? "a6" by "t2")
    };
    (last ahead $($load:tt)+) => {
        ""
    };
    (every ahead $($load:tt)+) => {
        step!(every $($load)+)
    };
}

/// A group of `$rows` tiles of `A` in these registers, and the one that is free.
macro_rules! group {
    ($round:ident 1 [$a0:literal $a1:literal $a2:literal $free:literal]) => {
        group!($round
            [b 30] [ahead a 1 $a1 by 32] [dot 0 $a0 28] [ask two] [dot 2 $a0 29] [dot 4 $a0 30] [ahead b 28] [dot 6 $a0 31])
    };
    ($round:ident 2 [$a0:literal $a1:literal $a2:literal $free:literal]) => {
        group!($round
            [dot 0 $a0 28] [b 30] [dot 2 $a0 29] [ask two] [dot 8 $a1 28] [dot 10 $a1 29] [ahead a 1 $a2 by 32]
            [dot 4 $a0 30] [ahead b 28] [dot 6 $a0 31] [dot 12 $a1 30] [dot 14 $a1 31] [ahead a 1 $free by 32])
    };
    ($round:ident 3 [$a0:literal $a1:literal $a2:literal $free:literal]) => {
        group!($round
            [dot 18 $a2 29] [dot 16 $a2 28] [b 30] [dot 10 $a1 29] [ask] [dot 8 $a1 28] [dot 2 $a0 29] [dot 4 $a0 30]
            [dot 0 $a0 28] [ahead a 1 $free by -64] [dot 12 $a1 30] [dot 14 $a1 31] [ahead b 28] [dot 6 $a0 31]
            [dot 20 $a2 30] [ahead a 2 $a0 by 160] [dot 22 $a2 31])
    };
    ($round:ident $([$($step:tt)+])+) => {
        concat!($(step!($round $($step)+)),+)
    };
}

/// `$tiles` tiles of rows, whose sums of four tiles each are listed. `$first` are the loads before the first group, then come the
/// registers of `A` in each of four groups.
macro_rules! tiles_kernel {
    (
        $args:expr, $tiles:tt, [$([$($first:tt)+])+], [$r0:tt $r1:tt $r2:tt $r3:tt],
        $([$c0:literal $c1:literal $c2:literal $c3:literal])+
    ) => {
        std::arch::asm!(
            ".option push",
            ".option arch, +v",
            offsets!(),
            "slli a7, a4, 2",
            "addi a7, a7, -48",
            "bnez a5, 2f",
            "vsetvli t0, zero, e8, m8, ta, ma",
            $(concat!("vmv.v.i v", $c0, ", 0"),)+
            "j 3f",
            "2:",
            "mv t1, a3",
            $(
                concat!("vluxei64.v v", $c0, ", (t1), v24\n addi t1, t1, 16"),
                concat!("vluxei64.v v", $c1, ", (t1), v24\n addi t1, t1, 16"),
                concat!("vluxei64.v v", $c2, ", (t1), v24\n addi t1, t1, 16"),
                concat!("vluxei64.v v", $c3, ", (t1), v24\n add t1, t1, a7"),
            )+
            "3:",
            "beqz a0, 9f",
            "vsetvli t0, zero, e8, m1, ta, ma",
            $(step!(every $($first)+),)+
            // One to four groups are left for after the loop.
            "addi a0, a0, -1",
            "srli t0, a0, 2",
            "andi a0, a0, 3",
            "beqz t0, 5f",
            "4:",
            "addi t0, t0, -1",
            group!(every $tiles $r0),
            group!(every $tiles $r1),
            group!(every $tiles $r2),
            group!(every $tiles $r3),
            "bnez t0, 4b",
            "5:",
            "beqz a0, 6f",
            "addi a0, a0, -1",
            group!(every $tiles $r0),
            "beqz a0, 7f",
            "addi a0, a0, -1",
            group!(every $tiles $r1),
            "beqz a0, 8f",
            group!(every $tiles $r2),
            group!(last $tiles $r3),
            "j 9f",
            "6:",
            group!(last $tiles $r0),
            "j 9f",
            "7:",
            group!(last $tiles $r1),
            "j 9f",
            "8:",
            group!(last $tiles $r2),
            "9:",
            offsets!(),
            $(
                concat!("vsuxei64.v v", $c0, ", (a3), v24\n addi a3, a3, 16"),
                concat!("vsuxei64.v v", $c1, ", (a3), v24\n addi a3, a3, 16"),
                concat!("vsuxei64.v v", $c2, ", (a3), v24\n addi a3, a3, 16"),
                concat!("vsuxei64.v v", $c3, ", (a3), v24\n add a3, a3, a7"),
            )+
            ".option pop",
            inout("a0") $args.k_groups => _,
            inout("a1") $args.a => _,
            inout("a2") $args.b => _,
            inout("a3") $args.c => _,
            in("a4") $args.c_stride,
            in("a5") usize::from($args.accumulate),
            inout("a6") $args.ahead.from => _,
            out("a7") _,
            in("t2") $args.ahead.step,
            clobber_abi("C"),
            options(nostack),
        )
    };
}

/// A tile of `C` is eight pairs of numbers, which get these offsets in v24.
macro_rules! offsets {
    () => {
        "vsetvli t0, zero, e64, m2, ta, ma
        vid.v v24
        vsrl.vi v26, v24, 1
        vmul.vx v26, v26, a4
        vand.vi v24, v24, 1
        vsll.vi v24, v24, 3
        vadd.vv v24, v24, v26"
    };
}

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn run(args: &Args) {
    // SAFETY: the assembly touches only what `Args` lends it, for `args.rows` rows.
    unsafe {
        match args.rows {
            4 => tiles_kernel!(
                args, 1, [[b 28] [a 1 24 by 32]],
                [[24 25 26 27] [25 26 27 24] [26 27 24 25] [27 24 25 26]],
                [0 2 4 6]
            ),
            8 => tiles_kernel!(
                args, 2, [[b 28] [a 1 24 by 32] [a 1 25 by 32]],
                [[24 25 26 27] [26 27 24 25] [24 25 26 27] [26 27 24 25]],
                [0 2 4 6] [8 10 12 14]
            ),
            _ => tiles_kernel!(
                args, 3, [[b 28] [a 2 24 by 64] [a 1 26 by 96]],
                [[24 25 26 27] [24 25 27 26] [24 25 26 27] [24 25 27 26]],
                [0 2 4 6] [8 10 12 14] [16 18 20 22]
            ),
        }
    }
}
