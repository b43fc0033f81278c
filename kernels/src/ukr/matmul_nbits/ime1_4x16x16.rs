//! Four rows by 16 columns: four tiles of 4x4x8 across.
//!
//! | registers | |
//! |---|---|
//! | v0-v7 | sums of a group, a pair of registers a tile: rows 0, 1 and rows 2, 3 |
//! | v8-v15 | `C` in the same order |
//! | v16-v23 | two steps of `B`, a register a tile |
//! | v24-v25 | two steps of `A` |
//! | v16-v19, v26-v27 | when a group ends: what belongs to the columns of each tile, and to each pair of rows |
//! | v28-v31 | where that comes from: rows 0, 1; rows 2, 3; columns 0-3; columns 4-7 |

use super::Args;

/// `smt.vmadot vd, vs1, vs2`: signed `A` times signed `B`, added to the pair `vd`.
macro_rules! dot {
    ($d:literal, $a:literal, $b:literal) => {
        concat!(".insn r 0x2b, 3, 0x71, x", $d, ", x", $a, ", x", $b, "\n")
    };
}

/// Spreads four numbers at `$rows` and 16 at `$columns` over tiles, and steps behind them.
macro_rules! spread {
    ($rows:literal, $columns:literal) => {
        concat!(
            "vsetivli zero, 4, e32, m1, ta, ma\n",
            "vle32.v v24, (",
            $rows,
            ")\n",
            "vl2re32.v v22, (",
            $columns,
            ")\n",
            "addi ",
            $rows,
            ", ",
            $rows,
            ", 16\n",
            "addi ",
            $columns,
            ", ",
            $columns,
            ", 64\n",
            "vsetvli t0, zero, e32, m1, ta, ma\n",
            "vrgather.vv v26, v24, v28\n",
            "vrgather.vv v27, v24, v29\n",
            "vrgather.vv v16, v22, v30\n",
            "vrgather.vv v17, v22, v31\n",
            "vrgather.vv v18, v23, v30\n",
            "vrgather.vv v19, v23, v31\n",
        )
    };
}

/// The sums of a tile less what its zero points add to them.
macro_rules! subtract_zero_points {
    ($low:literal, $high:literal, $columns:literal) => {
        concat!("vfnmsac.vv v", $low, ", v", $columns, ", v26\n", "vfnmsac.vv v", $high, ", v", $columns, ", v27\n")
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
            ", v26\n",
            "vfmul.vv v",
            $high,
            ", v",
            $high,
            ", v27\n",
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
            "beqz a0, 4f",
            "vl8re32.v v8, (a7)",
            "vsetvli t0, zero, e32, m1, ta, ma",
            "vid.v v31",
            "vsrl.vi v28, v31, 2",
            "vadd.vi v29, v28, 2",
            "vand.vi v30, v31, 3",
            "vadd.vi v31, v30, 4",
            "1:",
            "vsetvli t0, zero, e32, m8, ta, ma",
            "vmv.v.i v0, 0",
            "vsetvli t0, zero, e8, m1, ta, ma",
            "add t1, a1, t2",
            "2:",
            "vl8re8.v v16, (a2)",
            "vl2re8.v v24, (a1)",
            "addi a2, a2, 256",
            "addi a1, a1, 64",
            dot!(0, 24, 16), dot!(2, 24, 17), dot!(4, 24, 18), dot!(6, 24, 19),
            dot!(0, 25, 20), dot!(2, 25, 21), dot!(4, 25, 22), dot!(6, 25, 23),
            "bltu a1, t1, 2b",
            "vsetvli t0, zero, e32, m8, ta, ma",
            "vfcvt.f.x.v v0, v0",
            "beqz a6, 3f",
            spread!("a4", "a6"),
            subtract_zero_points!(0, 1, 16),
            subtract_zero_points!(2, 3, 17),
            subtract_zero_points!(4, 5, 18),
            subtract_zero_points!(6, 7, 19),
            "3:",
            spread!("a3", "a5"),
            rescale!(0, 1, 16, 8, 9),
            rescale!(2, 3, 17, 10, 11),
            rescale!(4, 5, 18, 12, 13),
            rescale!(6, 7, 19, 14, 15),
            "addi a0, a0, -1",
            "bnez a0, 1b",
            "vs8r.v v8, (a7)",
            "4:",
            ".option pop",
            inout("a0") args.groups => _,
            inout("a1") args.a => _,
            inout("a2") args.b => _,
            inout("a3") args.a_scales => _,
            inout("a4") args.a_sums => _,
            inout("a5") args.b_scales => _,
            inout("a6") args.b_zero_points => _,
            in("a7") args.c,
            in("t2") args.k_groups * 32,
            clobber_abi("C"),
            options(nostack),
        )
    }
}
