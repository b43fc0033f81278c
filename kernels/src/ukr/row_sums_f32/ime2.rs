//! Rows of halves by the matrix unit, 64 columns at a time, in multiples of 64 rows; the weights are rounded to f16.
//!
//! | registers | |
//! |---|---|
//! | v0-v15 | eight rows on their way to tiles of eight rows by eight columns, a register each |
//! | v0 | meanwhile the tile of their weights |
//! | v16-v31 | sums, a pair for each eight columns |

use half::f16;

use super::Args;
use crate::ukr::ime2_transpose::{ask, dot, join, last, narrow_rows, read, transpose};

/// Makes four rows of 32 numbers in four registers `$first`, `$second` of four tiles.
macro_rules! rows {
    ($first:literal $second:literal = $a:literal $b:literal $c:literal $d:literal) => {
        concat!(join!(2 0 = $a $b), join!(2 2 = $c $d), join!(3 $first = 0 2), join!(3 $second = 1 3))
    };
}

/// Adds two registers for each row of `y`.
macro_rules! add {
    ($($low:literal $high:literal)+) => {
        concat!(
            $("vl1re32.v v20, (a3)\n addi t1, a3, 128\n vl1re32.v v21, (t1)\n",
            "vfadd.vv v20, v20, v", $low, "\n vfadd.vv v21, v21, v", $high, "\n",
            "vs1r.v v20, (a3)\n vs1r.v v21, (t1)\n addi a7, a7, -1\n beqz a7, 3f\n add a3, a3, a4\n",)+
        )
    };
}

/// Adds 64 columns, from this one on; `$tiles` has room for eight registers.
macro_rules! columns {
    ($args:expr, $first:expr, $tiles:expr, $read:expr, $ask:expr) => {
        std::arch::asm!(
            ".option push",
            ".option arch, +v, +zvfh",
            "vsetvli t0, zero, e32, m8, ta, ma",
            "vmv.v.i v16, 0",
            "vmv.v.i v24, 0",
            "1:",
            "mv t1, a2",
            "mv t2, a7",
            narrow_rows!("t1", "s3", "t2", "", ["0" "1" "2" "3" "4" "5" "6" "7"]),
            transpose!(1, [8 "", 10 "", 12 "", 14 ""]),
            "vs8r.v v8, (s5)",
            "addi a2, a2, 256",
            "mv t3, s5",
            "addi t5, s5, 1024",
            "2:",
            "add t4, a0, s4",
            $read,
            $ask,
            transpose!(0, [
                8 "vl1re16.v v0, (t3)\n addi t3, t3, 128\n",
                10 concat!(dot!(16 = 0 8), dot!(18 = 0 9)),
                12 concat!(dot!(20 = 0 10), dot!(22 = 0 11)),
                14 concat!(dot!(24 = 0 12), dot!(26 = 0 13), dot!(28 = 0 14), dot!(30 = 0 15))
            ]),
            "bltu t3, t5, 2b",
            "addi a5, a5, -64",
            "bnez a5, 1b",
            rows!(4 6 = 16 18 20 22),
            rows!(8 10 = 17 19 21 23),
            rows!(12 14 = 24 26 28 30),
            rows!(16 18 = 25 27 29 31),
            "vsetvli t0, zero, e32, m1, ta, ma",
            add!(4 12 5 13 6 14 7 15 8 16 9 17 10 18 11 19),
            "3:",
            ".option pop",
            inout("a0") $args.x.add($first * size_of::<f16>()) => _,
            in("a1") $args.x_stride,
            inout("a2") $args.weights => _,
            inout("a3") $args.y.add($first) => _,
            in("a4") $args.width * size_of::<f32>(),
            inout("a5") $args.count => _,
            inout("a7") $args.rows => _,
            in("s3") $args.weights_stride,
            in("s4") $args.ahead,
            in("s5") $tiles,
            clobber_abi("C"),
            options(nostack),
        )
    };
}

/// # Safety
/// The contract of [`Args`] for a multiple of 64 rows, at least one, of a multiple of 64 halves, on a core that meets the needs of
/// its row in the table.
pub unsafe fn f16_64(args: &Args) {
    let mut tiles = [0u16; 512];
    for first in (0..args.width).step_by(64) {
        // SAFETY: the assembly touches only what `Args` lends it, and `tiles`, which has eight registers; a prefetch is a hint.
        unsafe {
            if args.x_stride == 64 * size_of::<f16>() {
                columns!(args, first, tiles.as_mut_ptr(), read!(dense), ask!(dense));
            } else {
                columns!(args, first, tiles.as_mut_ptr(), read!(strided), ask!(strided));
            }
        }
    }
}
