//! Rows of 64 numbers without gaps, 32 in a group: loads are of eight registers, since on the A100 a load may cost the same whatever
//! its size, and `smt.vpack.vv` makes the sums of two rows one register, five times in a row.
//!
//! | registers | |
//! |---|---|
//! | v0-v1 | the query row |
//! | v4-v5, v6-v7, v8-v9 | two registers of sums, joined |
//! | v10-v11, v12-v13, v14-v15 | sums of four rows, of eight, of 16 |
//! | v16-v23, v24-v31 | four rows of `x` each, and their products with the query row |
//!
//! While four rows are multiplied, the four before are added up and the next ones arrive.

use super::Args;

/// Joins two registers in blocks of 32 (0), 128, 256 or 512 bits (1, 2, 3): then the sum of the pair has half as many numbers of
/// either.
macro_rules! join {
    ($block:literal $pair:literal = $first:literal $second:literal) => {
        concat!(".insn r 0x2b, ", $block, ", 0x33, x", $pair, ", x", $first, ", x", $second, "\n")
    };
}

macro_rules! op {
    ($op:literal $to:literal $a:literal $b:literal) => {
        concat!($op, ".vv v", $to, ", v", $a, ", v", $b, "\n")
    };
}

/// Asks for these lines of those at `t4`: all of them for a single query row, else half of them for the first one and the others for
/// the others.
macro_rules! ask {
    (all $($low:literal)+; $($high:literal)+) => {
        concat!($(line!($low),)+ $(line!($high),)+)
    };
    (low $($low:literal)+; $($high:literal)+) => {
        concat!($(line!($low),)+)
    };
    (high $($low:literal)+; $($high:literal)+) => {
        concat!($(line!($high),)+)
    };
}

macro_rules! line {
    ($offset:literal) => {
        concat!(".insn i 0x13, 6, x0, t4, 1 + 64 * ", $offset, "\n")
    };
}

/// Multiplies the rows in `$a`, `$b`, `$c` and `$d` by the query row, adds up those before them in `$w` to `$z` to `$sum`, and
/// executes `$load` when the latter have gone on. `$join` and `$add` are what else is to be joined and added.
macro_rules! four {
    (
        $which:ident, $a:literal $a1:literal $b:literal $b1:literal $c:literal $c1:literal $d:literal $d1:literal,
        $w:literal $x:literal $y:literal $z:literal => $sum:literal, $load:expr, $join:expr, $add:expr
    ) => {
        concat!(
            join!(0 4 = $w $y),
            op!("vfmul" $a $a 0),
            ask!($which 0 1; 2 3),
            join!(0 6 = $x $z),
            op!("vfmul" $b $b 0),
            $load, "\n",
            op!("vfmul" $c $c 0),
            op!("vfadd" 4 4 5),
            ask!($which 4 5; 6 7),
            op!("vfmul" $d $d 0),
            op!("vfadd" 6 6 7),
            op!("vfmacc" $a $a1 1),
            op!("vfmacc" $b $b1 1),
            join!(0 8 = 4 6),
            ask!($which 8 9; 10 11),
            op!("vfmacc" $c $c1 1),
            $join,
            op!("vfmacc" $d $d1 1),
            ask!($which 12 13; 14 15),
            $add,
            op!("vfadd" $sum 8 9),
            "addi t4, t4, 1024\n",
        )
    };
}

/// [`four!`] for one half of the registers or the other.
macro_rules! low {
    ($which:ident $($rest:tt)+) => {
        four!($which, 16 17 18 19 20 21 22 23, 24 26 28 30 => $($rest)+)
    };
}
macro_rules! high {
    ($which:ident $($rest:tt)+) => {
        four!($which, 24 25 26 27 28 29 30 31, 16 18 20 22 => $($rest)+)
    };
}

/// The products of a group with a query row, from those of its first four rows on, and what the next round begins with.
macro_rules! round {
    ($which:ident) => {
        concat!(
            "vsetvli t0, zero, e32, m1, ta, ma", "\n",
            "add t4, a0, s4", "\n",
            "addi t5, a0, 1024", "\n",
            op!("vfmul" 16 16 0),
            op!("vfmul" 18 18 0),
            op!("vfmul" 20 20 0),
            op!("vfmul" 22 22 0),
            op!("vfmacc" 16 17 1),
            op!("vfmacc" 18 19 1),
            op!("vfmacc" 20 21 1),
            op!("vfmacc" 22 23 1),
            ask!($which 0 1 2 3 4 5 6 7; 8 9 10 11 12 13 14 15),
            "addi t4, t4, 1024", "\n",
            "addi t5, t5, 1024", "\n",
            high!($which 10, "vl8re32.v v16, (t5)\n addi t5, t5, 1024", "", ""),
            low!($which 11, "vl8re32.v v24, (t5)\n addi t5, t5, 1024", "", ""),
            high!($which 10, "vl8re32.v v16, (t5)\n addi t5, t5, 1024", join!(1 4 = 10 11), op!("vfadd" 12 4 5)),
            low!($which 11, "vl8re32.v v24, (t5)\n addi t5, t5, 1024", "", ""),
            high!($which 10, "vl8re32.v v16, (t5)\n addi t5, t5, 1024", join!(1 4 = 10 11), op!("vfadd" 13 4 5)),
            low!($which 11, "vl8re32.v v24, (t5)", join!(2 4 = 12 13), op!("vfadd" 14 4 5)),
            // The next round has another query row, or else the next group; after the last one it is any.
            "mv t6, a0", "\n",
            "addi s2, s2, 256", "\n",
            "addi s3, s3, -1", "\n",
            "bnez s3, 2f", "\n",
            "mv s2, a2", "\n",
            "addi a6, a6, -1", "\n",
            "beqz a6, 2f", "\n",
            "add t6, a0, s7", "\n",
            "2:", "\n",
            high!($which 10, "vl8re32.v v16, (t6)\n addi t6, t6, 1024", join!(1 4 = 10 11), op!("vfadd" 12 4 5)),
            join!(0 4 = 24 28),
            join!(0 6 = 26 30),
            "vl8re32.v v24, (t6)", "\n",
            "vl2re32.v v0, (s2)", "\n",
            op!("vfadd" 4 4 5),
            op!("vfadd" 6 6 7),
            join!(0 8 = 4 6),
            op!("vfadd" 11 8 9),
            join!(1 4 = 10 11),
            op!("vfadd" 13 4 5),
            join!(2 6 = 12 13),
            op!("vfadd" 15 6 7),
            join!(3 8 = 14 15),
            op!("vfadd" 8 8 9),
            "vfmul.vf v8, v8, f10", "\n",
            "vs1r.v v8, (t1)", "\n",
        )
    };
}

/// # Safety
/// The contract of [`Args`] with at least one query row, for rows of 64 numbers without gaps, on a core that meets the needs of
/// its row in the table.
pub unsafe fn f32_64(args: &Args) {
    // SAFETY: the assembly touches only what `Args` lends it; a prefetch is a hint.
    unsafe {
        std::arch::asm!(
            ".option push",
            ".option arch, +v",
            "beqz a6, 9f",
            "li s7, 32 * 256",
            "mv s2, a2",
            "mv t1, a3",
            "mv s3, a5",
            "vl8re32.v v16, (a0)",
            "addi t5, a0, 1024",
            "vl8re32.v v24, (t5)",
            "vl2re32.v v0, (s2)",
            "1:",
            "li t0, 1",
            "bne a5, t0, 3f",
            round!(all),
            "j 5f",
            "3:",
            round!(low),
            "4:",
            "add t1, t1, a4",
            round!(high),
            "bnez s3, 4b",
            "5:",
            "beqz a6, 9f",
            "add a0, a0, s7",
            "addi a3, a3, 128",
            "mv t1, a3",
            "mv s3, a5",
            "j 1b",
            "9:",
            ".option pop",
            inout("a0") args.x => _,
            in("a2") args.q,
            inout("a3") args.y => _,
            in("a4") args.y_stride,
            in("a5") args.rows,
            inout("a6") args.groups => _,
            in("s4") args.ahead,
            in("f10") args.scale,
            out("s2") _,
            out("s3") _,
            out("s7") _,
            clobber_abi("C"),
            options(nostack),
        );
    }
}
