//! Rows of 64 or 128 numbers without gaps, 32 or 16 in a group: loads are of eight registers, since on the A100 a load may cost the
//! same whatever its size, and `smt.vpack.vv` makes the sums of two rows one register, again and again.
//!
//! | registers | |
//! |---|---|
//! | v0-v3 | the query row |
//! | v4-v5, v6-v7, v8-v9 | two registers of sums, joined |
//! | v10-v11, v12-v13, v14-v15 | the sums of one step, of two, of four |
//! | v16-v23, v24-v31 | what a step multiplies: four pieces of 64 numbers, and their products |
//!
//! A step is four rows of 64 numbers or two of 128, which are two pieces each. While they are multiplied, those before are added up
//! and the next ones arrive.

use super::Args;
use super::ime2_pieces::{ask, end, line, merge, op, product, steps, total};
use crate::ukr::ime2_transpose::join;

/// Multiplies the pieces in `$a`, `$b`, `$c` and `$d` by the query row, adds up those before them in `$w` to `$z` to `$sum`, and
/// executes `$load` when the latter have gone on. `$join` and `$add` are of the steps before.
macro_rules! step {
    (
        $which:ident $width:tt, $a:literal $a1:literal $b:literal $b1:literal $c:literal $c1:literal $d:literal $d1:literal,
        $w:literal $x:literal $y:literal $z:literal => $sum:literal, $load:expr, $join:expr, $add:expr
    ) => {
        concat!(
            join!(0 4 = $w $y),
            product!("vfmul" $a $a, 0 of first, $width),
            ask!($which 0 1; 2 3),
            join!(0 6 = $x $z),
            product!("vfmul" $b $b, 0 of last, $width),
            $load, "\n",
            product!("vfmul" $c $c, 0 of first, $width),
            op!("vfadd" 4 4 5),
            ask!($which 4 5; 6 7),
            product!("vfmul" $d $d, 0 of last, $width),
            op!("vfadd" 6 6 7),
            product!("vfmacc" $a $a1, 1 of first, $width),
            product!("vfmacc" $b $b1, 1 of last, $width),
            merge!($width begin),
            ask!($which 8 9; 10 11),
            product!("vfmacc" $c $c1, 1 of first, $width),
            $join,
            product!("vfmacc" $d $d1, 1 of last, $width),
            ask!($which 12 13; 14 15),
            $add,
            merge!($width end $sum),
            "addi t4, t4, 1024\n",
        )
    };
}

/// [`step!`] for one half of the registers or the other.
macro_rules! low {
    ($which:ident $width:tt $($rest:tt)+) => {
        step!($which $width, 16 17 18 19 20 21 22 23, 24 26 28 30 => $($rest)+)
    };
}
macro_rules! high {
    ($which:ident $width:tt $($rest:tt)+) => {
        step!($which $width, 24 25 26 27 28 29 30 31, 16 18 20 22 => $($rest)+)
    };
}

/// The products of a group with a query row, from those of its first step on, and what the next round begins with.
macro_rules! round {
    ($which:ident $width:tt) => {
        concat!(
            "vsetvli t0, zero, e32, m1, ta, ma\n",
            "add t4, a0, s4\n addi t5, a0, 1024\n",
            product!("vfmul" 16 16, 0 of first, $width),
            product!("vfmul" 18 18, 0 of last, $width),
            product!("vfmul" 20 20, 0 of first, $width),
            product!("vfmul" 22 22, 0 of last, $width),
            product!("vfmacc" 16 17, 1 of first, $width),
            product!("vfmacc" 18 19, 1 of last, $width),
            product!("vfmacc" 20 21, 1 of first, $width),
            product!("vfmacc" 22 23, 1 of last, $width),
            ask!($which 0 1 2 3 4 5 6 7; 8 9 10 11 12 13 14 15),
            "addi t4, t4, 1024\n addi t5, t5, 1024\n",
            high!($which $width 10, "vl8re32.v v16, (t5)\n addi t5, t5, 1024", "", ""),
            low!($which $width 11, "vl8re32.v v24, (t5)\n addi t5, t5, 1024", "", ""),
            high!($which $width 10, "vl8re32.v v16, (t5)\n addi t5, t5, 1024", steps!($width one 10 11), total!($width 12)),
            low!($which $width 11, "vl8re32.v v24, (t5)\n addi t5, t5, 1024", "", ""),
            high!($which $width 10, "vl8re32.v v16, (t5)\n addi t5, t5, 1024", steps!($width one 10 11), total!($width 13)),
            low!($which $width 11, "vl8re32.v v24, (t5)", steps!($width two 12 13), total!($width 14)),
            // The next round has another query row, or else the next group; after the last one it is any.
            "mv t6, a0\n add s2, s2, s8\n addi s3, s3, -1\n bnez s3, 2f\n",
            "mv s2, a2\n addi a6, a6, -1\n beqz a6, 2f\n add t6, a0, s7\n 2:\n",
            high!($which $width 10, "vl8re32.v v16, (t6)\n addi t6, t6, 1024", steps!($width one 10 11), total!($width 12)),
            join!(0 4 = 24 28),
            join!(0 6 = 26 30),
            "vl8re32.v v24, (t6)\n",
            end!($width query),
            op!("vfadd" 4 4 5),
            op!("vfadd" 6 6 7),
            merge!($width begin),
            merge!($width end 11),
            steps!($width one 10 11),
            total!($width 13),
            steps!($width two 12 13),
            total!($width 15),
            steps!($width four 14 15),
            total!($width 8),
            end!($width store),
        )
    };
}

macro_rules! dots {
    ($args:expr, $width:tt) => {
        std::arch::asm!(
            ".option push",
            ".option arch, +v",
            "beqz a6, 9f",
            "li s7, 8192",
            concat!("li s8, 4 * ", $width),
            "mv s2, a2",
            "mv t1, a3",
            "mv s3, a5",
            "vl8re32.v v16, (a0)",
            "addi t5, a0, 1024",
            "vl8re32.v v24, (t5)",
            end!($width query),
            "1:",
            "li t0, 1",
            "bne a5, t0, 3f",
            round!(all $width),
            "j 5f",
            "3:",
            round!(low $width),
            "4:",
            "add t1, t1, a4",
            round!(high $width),
            "bnez s3, 4b",
            "5:",
            "beqz a6, 9f",
            "add a0, a0, s7",
            concat!("addi a3, a3, 8192 / ", $width),
            "mv t1, a3",
            "mv s3, a5",
            "j 1b",
            "9:",
            ".option pop",
            inout("a0") $args.x => _,
            in("a2") $args.q,
            inout("a3") $args.y => _,
            in("a4") $args.y_stride,
            in("a5") $args.rows,
            inout("a6") $args.groups => _,
            in("s4") $args.ahead,
            in("f10") $args.scale,
            out("s2") _,
            out("s3") _,
            out("s7") _,
            out("s8") _,
            clobber_abi("C"),
            options(nostack),
        )
    };
}

/// # Safety
/// The contract of [`Args`] with at least one query row, for rows of 64 numbers without gaps, on a core that meets the needs of
/// its row in the table.
pub unsafe fn f32_64(args: &Args) {
    // SAFETY: the assembly touches only what `Args` lends it; a prefetch is a hint.
    unsafe { dots!(args, 64) }
}

/// # Safety
/// That of [`f32_64`], for rows of 128 numbers.
pub unsafe fn f32_128(args: &Args) {
    // SAFETY: as above.
    unsafe { dots!(args, 128) }
}
