//! A round takes 128 bytes of each row, a register a row, and joins registers in pairs by `smt.vpack.vv`: one of the first half of
//! the rows with one of the second, four times with 16 rows and three times with eight. Then the registers are `y`, one behind
//! the other: each join moves one bit of a row's number from that of the register to that of the group, and one the other way.

use super::Args;
use crate::ukr::ime2_transpose::join;

/// All joins of eight registers from v0 or v16 on, or of 16.
macro_rules! join_all {
    (eight to 16) => { concat!(join!(1 16 = 0 4), join!(1 18 = 1 5), join!(1 20 = 2 6), join!(1 22 = 3 7)) };
    (eight to 0) => { concat!(join!(1 0 = 16 20), join!(1 2 = 17 21), join!(1 4 = 18 22), join!(1 6 = 19 23)) };
    (sixteen to 16) => {
        concat!(join!(1 16 = 0 8), join!(1 18 = 1 9), join!(1 20 = 2 10), join!(1 22 = 3 11), join!(1 24 = 4 12), join!(1 26 = 5 13), join!(1 28 = 6 14), join!(1 30 = 7 15))
    };
    (sixteen to 0) => {
        concat!(join!(1 0 = 16 24), join!(1 2 = 17 25), join!(1 4 = 18 26), join!(1 6 = 19 27), join!(1 8 = 20 28), join!(1 10 = 21 29), join!(1 12 = 22 30), join!(1 14 = 23 31))
    };
}

/// Loads rows as long as there are any.
macro_rules! load {
    ($($row:literal)+) => {
        concat!($("vle8.v v", $row, ", (t2)\n add t2, t2, a3\n addi t3, t3, -1\n beqz t3, 3f\n",)+)
    };
}

/// Stores up to 1024 bytes of t0, which become fewer, from eight registers on.
macro_rules! store {
    ($register:literal) => {
        concat!(
            "li t1, 1024\n bgeu t0, t1, 6f\n mv t1, t0\n 6:\n",
            "vsetvli zero, t1, e8, m8, ta, ma\n vse8.v v",
            $register,
            ", (a1)\n",
            "add a1, a1, t1\n sub t0, t0, t1\n"
        )
    };
}

/// The kernel for `$args` with `2^$shift` rows a panel. Where rows or bytes are missing, the registers are zero before.
macro_rules! rounds {
    ($args:expr, $shift:literal, [$($row:literal)+], [$($zero:literal)+], $joins:expr, [$($stored:literal)+]) => {
        std::arch::asm!(
            ".option push",
            ".option arch, +v",
            "1:",
            "li t0, 128",
            "bltu a2, t0, 2f",
            concat!("srli t1, a4, ", $shift),
            "bnez t1, 4f",
            "j 5f",
            "2:",
            "mv t0, a2",
            "5:",
            "vsetvli t1, zero, e8, m8, ta, ma",
            $(concat!("vmv.v.i v", $zero, ", 0"),)+
            "4:",
            "vsetvli zero, t0, e8, m1, tu, ma",
            "mv t2, a0",
            "mv t3, a4",
            load!($($row)+),
            "3:",
            "vsetvli t1, zero, e8, m1, ta, ma",
            $joins,
            "add a0, a0, t0",
            "sub a2, a2, t0",
            "addi t0, t0, 15",
            "srli t0, t0, 4",
            concat!("slli t0, t0, 4 + ", $shift),
            $(store!($stored),)+
            "bnez a2, 1b",
            ".option pop",
            inout("a0") $args.x => _,
            inout("a1") $args.y => _,
            inout("a2") $args.bytes => _,
            in("a3") $args.x_stride,
            in("a4") $args.rows,
            clobber_abi("C"),
            options(nostack),
        )
    };
}

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn eight_rows(args: &Args) {
    // SAFETY: the assembly touches only the bytes that `Args` lends it.
    unsafe {
        rounds!(
            args,
            3,
            [0 1 2 3 4 5 6 7],
            [0],
            concat!(join_all!(eight to 16), join_all!(eight to 0), join_all!(eight to 16)),
            [16]
        )
    }
}

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn sixteen_rows(args: &Args) {
    // SAFETY: as above.
    unsafe {
        rounds!(
            args,
            4,
            [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15],
            [0 8],
            concat!(
                join_all!(sixteen to 16),
                join_all!(sixteen to 0),
                join_all!(sixteen to 16),
                join_all!(sixteen to 0)
            ),
            [0 8]
        )
    }
}
