//! What the IME2 kernels of matrix products share: 16 rows by 32 columns in tiles of eight rows by eight columns, two down and
//! four across, whatever the element. One group of a tile is one register.
//!
//! | registers | |
//! |---|---|
//! | v0-v15 | sums, a pair of registers a tile: rows 0-3 and rows 4-7 |
//! | v16-v19, v20-v23 | a group of `B` each, a register a tile; in the end rows of `C` |
//! | v24-v27, v28-v31 | groups of `A`, a register a tile |
//!
//! Where sums are added to `C`, its rows come to v24-v27 in the end.
//!
//! Loads are of four registers: on the A100 they may cost little more than of one, and while the products of one group run,
//! the next one arrives.

/// A step of the loop: products of a tile of `A` with four of `B`, by the macro `$dot`; or the next four registers of `A` or of
/// `B`. What is `ahead` belongs to the next round, which the `last` one has not.
macro_rules! step {
    ($dot:ident $round:ident dots $a:literal [$b0:literal $b1:literal $b2:literal $b3:literal] [$c0:literal $c1:literal $c2:literal $c3:literal]) => {
        concat!($dot!($c0, $a, $b0), "\n", $dot!($c1, $a, $b1), "\n", $dot!($c2, $a, $b2), "\n", $dot!($c3, $a, $b3))
    };
    ($dot:ident $round:ident a $register:literal) => {
        concat!("vl4re8.v v", $register, ", (a1)\n addi a1, a1, 512")
    };
    ($dot:ident $round:ident b $register:literal) => {
        concat!("vl4re8.v v", $register, ", (a2)\n addi a2, a2, 512")
    };
    ($dot:ident last ahead $($load:tt)+) => {
        ""
    };
    ($dot:ident every ahead $($load:tt)+) => {
        step!($dot every $($load)+)
    };
}

/// Multiplies by the macro `$dot`. `$first` are the loads before the loop and `$step` the steps of a round, which is four
/// groups; `$one` loads `$bytes` of `A` for a group that is left over. Then for each row of tiles the register of its `A` in such
/// a group, and its sums of rows 0-3 and 4-7.
macro_rules! tiles_kernel {
    (
        $args:expr, $dot:ident, $add:literal, [$([$($first:tt)+])+] [$([$($step:tt)+])+], $one:literal by $bytes:literal,
        $($a:literal [$c0:literal $c1:literal $c2:literal $c3:literal] [$($high:literal)+]),+
    ) => {
        std::arch::asm!(
            ".option push",
            ".option arch, +v",
            "vsetvli a7, zero, e8, m8, ta, ma",
            $(concat!("vmv.v.i v", $c0, ", 0"),)+
            "vsetvli a7, zero, e8, m1, ta, ma",
            "srli a5, a0, 2",
            "andi a0, a0, 3",
            "beqz a5, 4f",
            $(step!($dot every $($first)+),)+
            "addi a5, a5, -1",
            "beqz a5, 3f",
            "2:",
            "addi a5, a5, -1",
            $(step!($dot every $($step)+),)+
            "bnez a5, 2b",
            "3:",
            $(step!($dot last $($step)+),)+
            "4:",
            "beqz a0, 6f",
            "5:",
            step!($dot every b 16),
            concat!($one, " v24, (a1)"),
            concat!("addi a1, a1, ", $bytes),
            "addi a0, a0, -1",
            $(step!($dot every dots $a [16 17 18 19] [$c0 $c1 $c2 $c3]),)+
            "bnez a0, 5b",
            "6:",
            $(
                store_rows!($add $c0 $c1 $c2 $c3),
                store_rows!($add $($high)+),
            )+
            ".option pop",
            inout("a0") $args.k_groups => _,
            inout("a1") $args.a => _,
            inout("a2") $args.b => _,
            inout("a3") $args.c => _,
            in("a4") $args.c_stride,
            in("a6") usize::from($args.accumulate),
            out("a5") _,
            out("a7") _,
            clobber_abi("C"),
            options(nostack),
        )
    };
}

/// The kernel of a family for `$args`, of eight rows or 16; `$add` adds two vectors of 32-bit numbers.
macro_rules! run_tiles {
    ($args:expr, $dot:ident, $add:literal) => {
        match $args.rows {
            8 => tiles_kernel!(
                $args, $dot, $add,
                [[a 24] [b 16] [b 20]]
                [
                    [dots 24 [16 17 18 19] [0 2 4 6]] [b 16]
                    [dots 25 [20 21 22 23] [0 2 4 6]] [b 20]
                    [dots 26 [16 17 18 19] [0 2 4 6]] [ahead b 16]
                    [dots 27 [20 21 22 23] [0 2 4 6]] [ahead a 24] [ahead b 20]
                ],
                "vl1re8.v" by 128, 24 [0 2 4 6] [1 3 5 7]
            ),
            _ => tiles_kernel!(
                $args, $dot, $add,
                [[a 24] [b 16]]
                [
                    [b 20]
                    [dots 24 [16 17 18 19] [0 2 4 6]] [dots 25 [16 17 18 19] [8 10 12 14]] [a 28]
                    [dots 26 [20 21 22 23] [0 2 4 6]] [b 16] [dots 27 [20 21 22 23] [8 10 12 14]] [b 20]
                    [dots 28 [16 17 18 19] [0 2 4 6]] [dots 29 [16 17 18 19] [8 10 12 14]] [ahead a 24]
                    [dots 30 [20 21 22 23] [0 2 4 6]] [ahead b 16] [dots 31 [20 21 22 23] [8 10 12 14]]
                ],
                "vl2re8.v" by 256, 24 [0 2 4 6] [1 3 5 7], 25 [8 10 12 14] [9 11 13 15]
            ),
        }
    };
}

/// Stores four rows of four tiles, or adds them by `$add` to those of `C`: `smt.vpack.vv` joins rows of eight numbers to rows of 16, and these to rows of 32.
macro_rules! store_rows {
    ($add:literal $c0:literal $c1:literal $c2:literal $c3:literal) => {
        concat!(
            ".insn r 0x2b, 2, 0x33, x16, x",
            $c0,
            ", x",
            $c1,
            "\n",
            ".insn r 0x2b, 2, 0x33, x18, x",
            $c2,
            ", x",
            $c3,
            "\n",
            ".insn r 0x2b, 3, 0x33, x20, x16, x18\n",
            ".insn r 0x2b, 3, 0x33, x22, x17, x19\n",
            "beqz a6, 7f\n",
            "vl1re32.v v24, (a3)\n add a7, a3, a4\n",
            "vl1re32.v v25, (a7)\n add a7, a7, a4\n",
            "vl1re32.v v26, (a7)\n add a7, a7, a4\n",
            "vl1re32.v v27, (a7)\n",
            "vsetvli a7, zero, e32, m4, ta, ma\n",
            $add,
            " v20, v20, v24\n",
            "vsetvli a7, zero, e8, m1, ta, ma\n",
            "7:\n",
            "vs1r.v v20, (a3)\n add a3, a3, a4\n",
            "vs1r.v v21, (a3)\n add a3, a3, a4\n",
            "vs1r.v v22, (a3)\n add a3, a3, a4\n",
            "vs1r.v v23, (a3)\n add a3, a3, a4\n",
        )
    };
}

pub(super) use {run_tiles, step, store_rows, tiles_kernel};
