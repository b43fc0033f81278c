//! What the IME2 kernels of matrix products share: 16 rows by 32 columns in tiles of eight rows by eight columns, two down and
//! four across, whatever the element. One group of a tile is one register.
//!
//! | registers | |
//! |---|---|
//! | v0-v15 | sums, a pair of registers a tile: rows 0-3 and rows 4-7 |
//! | v16-v19, v20-v23 | a group of `B` each, a register a tile; in the end rows of `C` |
//! | v24-v27, v28-v31 | groups of `A`, a register a tile |
//!
//! In the end v24-v31 are rows of `C`, too, or what finishes them.
//!
//! Loads are of four registers: on the A100 they may cost little more than of one, and while the products of one group run,
//! the next one arrives.

/// `smt.vmadotus vd, vs1, vs2, i8`: unsigned `A` times signed `B`, added to the pair `vd`.
macro_rules! dot_u8 {
    ($d:literal, $a:literal, $b:literal) => {
        concat!(".insn r 0x2b, 1, 0x71, x", $d, ", x", $a, ", x", $b)
    };
}

/// `smt.vfwmadot vd, vs1, vs2`: f16 `A` times f16 `B`, added to the pair `vd` of f32.
macro_rules! dot_f16 {
    ($d:literal, $a:literal, $b:literal) => {
        concat!(".insn r 0x2b, 4, 0x4f, x", $d, ", x", $a, ", x", $b)
    };
}

/// A step of the loop: products of a tile of `A` with four of `B`, by the macro `$dot`, and between them the `$lines` that are asked
/// for; or the next four registers of `A` or of `B`. What is `ahead` belongs to the next round, which the `last` one has not.
macro_rules! step {
    (
        $dot:ident $round:ident dots $a:literal [$b0:literal $b1:literal $b2:literal $b3:literal]
        [$c0:literal $c1:literal $c2:literal $c3:literal] $lines:ident
    ) => {
        concat!(
            $dot!($c0, $a, $b0), "\n", lines!($lines 0),
            $dot!($c1, $a, $b1), "\n", lines!($lines 1),
            $dot!($c2, $a, $b2), "\n", lines!($lines 2),
            $dot!($c3, $a, $b3), "\n", lines!($lines 3)
        )
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

/// What is asked for of the lines that a group of `B` has, behind the products of a row of tiles: all eight, or the `first` or the
/// `second` four where there are two such rows.
macro_rules! lines {
    (none $quarter:literal) => {
        ""
    };
    (all 0) => {
        concat!(lines!(0), lines!(64))
    };
    (all 1) => {
        concat!(lines!(128), lines!(192))
    };
    (all 2) => {
        concat!(lines!(256), lines!(320))
    };
    (all 3) => {
        concat!(lines!(384), lines!(448), lines!(on))
    };
    (first 0) => {
        lines!(0)
    };
    (first 1) => {
        lines!(64)
    };
    (first 2) => {
        lines!(128)
    };
    (first 3) => {
        lines!(192)
    };
    (second 0) => {
        lines!(256)
    };
    (second 1) => {
        lines!(320)
    };
    (second 2) => {
        lines!(384)
    };
    (second 3) => {
        concat!(lines!(448), lines!(on))
    };
    (on) => {
        "add t1, t1, t2\n"
    };
    ($bytes:literal) => {
        concat!(".insn i 0x13, 6, x0, t1, 1 + ", $bytes, "\n")
    };
}

/// Multiplies by the macro `$dot`. `$first` are the loads before the loop and `$step` the steps of a round, which is four
/// groups; `$one` loads `$bytes` of `A` for a group that is left over. Then for each row of tiles the register of its `A` in such
/// a group, and its sums. `$end` is what becomes of the sums, with a3 and a4 the results and the bytes between their rows, and the
/// `$operands` beside.
macro_rules! tiles_kernel {
    (
        $args:expr, $dot:ident, [$([$($first:tt)+])+] [$([$($step:tt)+])+], $one:literal by $bytes:literal,
        [$($a:literal [$c0:literal $c1:literal $c2:literal $c3:literal]),+], $end:expr, { $($operands:tt)* }
    ) => {
        std::arch::asm!(
            ".option push",
            ".option arch, +v",
            "srli a5, a0, 2",
            "andi a0, a0, 3",
            "beqz a5, 1f",
            $(step!($dot every $($first)+),)+
            "1:",
            "vsetvli a7, zero, e8, m8, ta, ma",
            $(concat!("vmv.v.i v", $c0, ", 0"),)+
            "vsetvli a7, zero, e8, m1, ta, ma",
            "beqz a5, 4f",
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
            $(step!($dot every dots $a [16 17 18 19] [$c0 $c1 $c2 $c3] none),)+
            "bnez a0, 5b",
            "6:",
            $end,
            ".option pop",
            inout("a0") $args.k_groups => _,
            inout("a1") $args.a => _,
            inout("a2") $args.b => _,
            inout("t1") $args.ahead.from => _,
            in("t2") $args.ahead.step,
            out("a5") _,
            out("a7") _,
            $($operands)*
            clobber_abi("C"),
            options(nostack),
        )
    };
}

/// The kernel for `$args` of eight rows or 16, which asks for nothing ahead or for `lines`; the macro `$end` and the operands that it
/// reads are as for [`tiles_kernel`].
macro_rules! run_tiles {
    ($args:expr, $rows:expr, $dot:ident, nothing, $end:ident $what:tt, $operands:tt) => {
        run_tiles!($args, $rows, $dot, [none none none], $end $what, $operands)
    };
    ($args:expr, $rows:expr, $dot:ident, lines, $end:ident $what:tt, $operands:tt) => {
        run_tiles!($args, $rows, $dot, [all first second], $end $what, $operands)
    };
    ($args:expr, $rows:expr, $dot:ident, [$all:ident $first:ident $second:ident], $end:ident $what:tt, $operands:tt) => {
        match $rows {
            8 => tiles_kernel!(
                $args, $dot,
                [[a 24] [b 16] [b 20]]
                [
                    [dots 24 [16 17 18 19] [0 2 4 6] $all] [b 16]
                    [dots 25 [20 21 22 23] [0 2 4 6] $all] [b 20]
                    [dots 26 [16 17 18 19] [0 2 4 6] $all] [ahead b 16]
                    [dots 27 [20 21 22 23] [0 2 4 6] $all] [ahead a 24] [ahead b 20]
                ],
                "vl1re8.v" by 128, [24 [0 2 4 6]], $end!(eight $what), $operands
            ),
            _ => tiles_kernel!(
                $args, $dot,
                [[a 24] [b 16]]
                [
                    [b 20]
                    [dots 24 [16 17 18 19] [0 2 4 6] $first] [dots 25 [16 17 18 19] [8 10 12 14] $second] [a 28]
                    [dots 26 [20 21 22 23] [0 2 4 6] $first] [b 16] [dots 27 [20 21 22 23] [8 10 12 14] $second] [b 20]
                    [dots 28 [16 17 18 19] [0 2 4 6] $first] [dots 29 [16 17 18 19] [8 10 12 14] $second] [ahead a 24]
                    [dots 30 [20 21 22 23] [0 2 4 6] $first] [ahead b 16] [dots 31 [20 21 22 23] [8 10 12 14] $second]
                ],
                "vl2re8.v" by 256, [24 [0 2 4 6], 25 [8 10 12 14]], $end!(sixteen $what), $operands
            ),
        }
    };
}

pub(super) use {dot_f16, dot_u8, lines, run_tiles, step, tiles_kernel};
