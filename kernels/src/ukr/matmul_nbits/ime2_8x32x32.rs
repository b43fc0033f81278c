//! Eight rows by 32 columns: four tiles of 8x8x16 across.
//!
//! | registers | |
//! |---|---|
//! | v0-v7 | sums of a group, a pair of registers a tile: rows 0-3 and rows 4-7 |
//! | v8-v15 | `C` in the same order |
//! | v16-v23 | two steps of `B`, a register a tile |
//! | v24-v25 | two steps of `A` |
//! | v18-v21, v30-v31 | when a group ends: what belongs to the columns of each tile, and to rows 0-3 and rows 4-7 |

use super::Args;

/// `smt.vmadot vd, vs1, vs2, i8`: signed `A` times signed `B`, added to the pair `vd`.
macro_rules! dot {
    ($d:literal, $a:literal, $b:literal) => {
        concat!(".insn r 0x2b, 3, 0x71, x", $d, ", x", $a, ", x", $b, "\n")
    };
}

/// `smt.vpack.vv vd, v, v, size`: every block of `v` twice, in the pair `vd`. Blocks have one number, or with a `size` of 2
/// or 3 eight or 16.
macro_rules! twice {
    ($d:literal, $v:literal, $size:literal) => {
        concat!(".insn r 0x2b, ", $size, ", 0x33, x", $d, ", x", $v, ", x", $v, "\n")
    };
}

/// Spreads eight numbers at `$rows` and 32 at `$columns` over tiles, and steps behind them.
macro_rules! spread {
    ($rows:literal, $columns:literal) => {
        concat!(
            "vsetivli zero, 8, e32, m1, ta, ma\n",
            "vle32.v v24, (",
            $rows,
            ")\n",
            "vl1re32.v v25, (",
            $columns,
            ")\n",
            "addi ",
            $rows,
            ", ",
            $rows,
            ", 32\n",
            "addi ",
            $columns,
            ", ",
            $columns,
            ", 128\n",
            "vsetvli t0, zero, e32, m1, ta, ma\n",
            twice!(26, 24, 0),
            twice!(28, 26, 0),
            twice!(30, 28, 0),
            twice!(22, 25, 2),
            twice!(18, 22, 3),
            twice!(20, 23, 3),
        )
    };
}

/// The sums of a tile less what its zero points add to them.
macro_rules! subtract_zero_points {
    ($low:literal, $high:literal, $columns:literal) => {
        concat!("vfnmsac.vv v", $low, ", v", $columns, ", v30\n", "vfnmsac.vv v", $high, ", v", $columns, ", v31\n")
    };
}

/// Adds the rescaled sums of a tile to `C`.
macro_rules! rescale {
    ($low:literal, $high:literal, $columns:literal, $c_low:literal, $c_high:literal) => {
        concat!(
            "vfmul.vv v",
            $low,
            ", v",
            $low,
            ", v30\n",
            "vfmul.vv v",
            $high,
            ", v",
            $high,
            ", v31\n",
            "vfmacc.vv v",
            $c_low,
            ", v",
            $low,
            ", v",
            $columns,
            "\n",
            "vfmacc.vv v",
            $c_high,
            ", v",
            $high,
            ", v",
            $columns,
            "\n",
        )
    };
}

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn run(args: &Args) {
    // SAFETY: the assembly touches only what `Args` lends it.
    unsafe {
        std::arch::asm!(
            ".option push",
            ".option arch, +v",
            "beqz a0, 6f",
            "vl8re32.v v8, (a7)",
            "li t3, 256",
            "1:",
            "vsetvli t0, zero, e32, m8, ta, ma",
            "vmv.v.i v0, 0",
            "vsetvli t0, zero, e8, m1, ta, ma",
            "add t1, a1, t2",
            "bltu t2, t3, 3f",
            "2:",
            "vl8re8.v v16, (a2)",
            "vl2re8.v v24, (a1)",
            "addi a2, a2, 1024",
            "addi a1, a1, 256",
            dot!(0, 24, 16), dot!(2, 24, 17), dot!(4, 24, 18), dot!(6, 24, 19),
            dot!(0, 25, 20), dot!(2, 25, 21), dot!(4, 25, 22), dot!(6, 25, 23),
            "bltu a1, t1, 2b",
            "j 4f",
            // A group of one step.
            "3:",
            "vl4re8.v v16, (a2)",
            "vl1re8.v v24, (a1)",
            "addi a2, a2, 512",
            "addi a1, a1, 128",
            dot!(0, 24, 16), dot!(2, 24, 17), dot!(4, 24, 18), dot!(6, 24, 19),
            "4:",
            "vsetvli t0, zero, e32, m8, ta, ma",
            "vfcvt.f.x.v v0, v0",
            "beqz a6, 5f",
            spread!("a4", "a6"),
            subtract_zero_points!(0, 1, 18),
            subtract_zero_points!(2, 3, 19),
            subtract_zero_points!(4, 5, 20),
            subtract_zero_points!(6, 7, 21),
            "5:",
            spread!("a3", "a5"),
            rescale!(0, 1, 18, 8, 9),
            rescale!(2, 3, 19, 10, 11),
            rescale!(4, 5, 20, 12, 13),
            rescale!(6, 7, 21, 14, 15),
            "addi a0, a0, -1",
            "bnez a0, 1b",
            "vs8r.v v8, (a7)",
            "6:",
            ".option pop",
            inout("a0") args.groups => _,
            inout("a1") args.a => _,
            inout("a2") args.b => _,
            inout("a3") args.a_scales => _,
            inout("a4") args.a_sums => _,
            inout("a5") args.b_scales => _,
            inout("a6") args.b_zero_points => _,
            in("a7") args.c,
            in("t2") args.k_groups * 128,
            clobber_abi("C"),
            options(nostack),
        )
    }
}
