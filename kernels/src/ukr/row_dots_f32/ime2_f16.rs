//! Rows of halves by the matrix unit, 64 columns at a time and 32 rows in a group; the query rows are rounded to f16.
//!
//! | registers | |
//! |---|---|
//! | v0-v15 | eight rows on their way to tiles of eight rows by eight columns, a register each; in the end rows of results |
//! | v16-v19 | products of eight rows, in two parts |
//! | v20-v23 | products of the first 16 rows, side by side |
//! | v24-v31 | the tiles of the query rows |

use half::f16;

use super::Args;
use crate::ukr::ime2_transpose::{ask, dot, join, last, narrow_rows, read, transpose};

/// The products of the eight rows in v0-v7, every other one in the pair `$even` and in `$odd`; `$set` are to be zero before. `$read`
/// reads the next eight rows, and `$ask` asks for the lines of later ones.
macro_rules! eight {
    ($even:literal $odd:literal, $set:expr, $read:expr, $ask:expr) => {
        concat!(
            $set,
            $ask,
            transpose!(1, [
                8 concat!(dot!($even = 24 8), dot!($odd = 25 9)),
                10 concat!(dot!($even = 26 10), dot!($odd = 27 11)),
                12 concat!(dot!($even = 28 12), dot!($odd = 29 13)),
                14 concat!($read, dot!($even = 30 14), dot!($odd = 31 15))
            ]),
        )
    };
}

macro_rules! zero {
    ($size:literal $first:literal) => {
        concat!(
            "vsetvli t0, zero, e32, ",
            $size,
            ", ta, ma\n vmv.v.i v",
            $first,
            ", 0\n vsetvli t0, zero, e16, m1, ta, ma\n"
        )
    };
}

macro_rules! add {
    ($to:literal $x:literal) => {
        concat!(
            "vsetvli t0, zero, e32, m2, ta, ma\n vfadd.vv v",
            $to,
            ", v",
            $to,
            ", v",
            $x,
            "\n vsetvli t0, zero, e16, m1, ta, ma\n"
        )
    };
}

/// Stores a register for each query row, or adds it to what is there.
macro_rules! store {
    ($($row:literal)+) => {
        concat!($(
            "beqz s5, 2f\n vl1re32.v v12, (t1)\n vfadd.vv v", $row, ", v", $row, ", v12\n 2:\n",
            "vs1r.v v", $row, ", (t1)\n addi t2, t2, -1\n beqz t2, 3f\n add t1, t1, a4\n",
        )+)
    };
}

/// The products with 64 columns, from this one on; they are added to `y` unless the columns are the first.
macro_rules! columns {
    ($args:expr, $first:expr, $read:expr, $ask:expr) => {
        std::arch::asm!(
            ".option push",
            ".option arch, +v, +zvfh",
            "mv t2, a5",
            narrow_rows!(
                "a2", "a7", "t2",
                "vsetvli t0, zero, e32, m2, ta, ma\n vfmul.vf v8, v8, f11\n vsetvli t0, zero, e16, m1, ta, ma",
                ["0" "1" "2" "3" "4" "5" "6" "7"]
            ),
            transpose!(1, [24 "", 26 "", 28 "", 30 ""]),
            "1:",
            "add t4, a0, s4",
            $read,
            eight!(16 18, zero!("m4" 16), $read, $ask),
            add!(16 18),
            eight!(18 20, concat!(zero!("m2" 18), zero!("m2" 20)), $read, $ask),
            add!(18 20),
            join!(2 20 = 16 18),
            join!(2 22 = 17 19),
            eight!(16 18, zero!("m4" 16), $read, $ask),
            add!(16 18),
            // There is no third pair for the last eight rows.
            eight!(18 18, zero!("m2" 18), "", $ask),
            join!(2 0 = 16 18),
            join!(2 2 = 17 19),
            join!(3 4 = 20 0),
            join!(3 6 = 21 1),
            join!(3 8 = 22 2),
            join!(3 10 = 23 3),
            "vsetvli t0, zero, e32, m4, ta, ma",
            "vfmul.vf v4, v4, f10",
            "vfmul.vf v8, v8, f10",
            "vsetvli t0, zero, e32, m1, ta, ma",
            "mv t1, a3",
            "mv t2, a5",
            store!(4 5 6 7 8 9 10 11),
            "3:",
            "vsetvli t0, zero, e16, m1, ta, ma",
            "addi a3, a3, 128",
            "addi a6, a6, -1",
            "bnez a6, 1b",
            ".option pop",
            inout("a0") $args.x.add($first * size_of::<f16>()) => _,
            in("a1") $args.x_stride,
            inout("a2") $args.q.add($first) => _,
            inout("a3") $args.y => _,
            in("a4") $args.y_stride,
            in("a5") $args.rows,
            inout("a6") $args.groups => _,
            inout("a7") $args.width * size_of::<f32>() => _,
            in("s4") $args.ahead,
            in("s5") usize::from($first > 0),
            in("f10") $args.scale,
            in("f11") $args.shrink,
            clobber_abi("C"),
            options(nostack),
        )
    };
}

/// # Safety
/// The contract of [`Args`] with at least one query row, for rows of a multiple of 64 halves, on a core that meets the
/// needs of its row in the table.
pub unsafe fn f16_64(args: &Args) {
    if args.groups == 0 {
        return;
    }
    for first in (0..args.width).step_by(64) {
        // SAFETY: the assembly touches only what `Args` lends it; a prefetch is a hint.
        unsafe {
            if args.x_stride == 64 * size_of::<f16>() {
                columns!(args, first, read!(dense), ask!(dense));
            } else {
                columns!(args, first, read!(strided), ask!(strided));
            }
        }
    }
}
