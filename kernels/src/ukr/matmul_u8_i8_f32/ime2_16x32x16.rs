//! Tiles of 8x8x16; the registers are those of `ukr::ime2`, with `zero_point * sums`, factors, scales and bias of the columns in
//! v28-v31 in the end.

use super::Args;
use crate::ukr::ime2::{dot_u8, lines, run_tiles, step, tiles_kernel};
use crate::ukr::ime2_rows::{each, finish_rows, rows, store_results};
use crate::ukr::ime2_transpose::join;

/// Rescales and stores four rows, the first of which has the factor `$at` bytes behind s3. Meanwhile the joins of the next four are
/// executed one by one.
macro_rules! rescale {
    (columns) => {
        concat!(
            "vl1re32.v v28, (t3)\n vl1re32.v v30, (t6)\n",
            "lui a7, 0x80000\n vmv.v.x v31, a7\n beqz s2, 7f\n vl1re32.v v31, (s2)\n 7:\n",
            "beqz s3, 7f\n vl1re32.v v29, (t5)\n 7:\n",
            "vmul.vx v28, v28, a6\n vfmul.vf v30, v30, fa0\n"
        )
    };
    ($r0:literal $r1:literal $r2:literal $r3:literal, $at:literal, $j0:expr, $j1:expr, $j2:expr, $j3:expr) => {
        concat!(
            each!("vsub.vv" 28 $r0 $r1 $r2 $r3),
            "beqz s3, 7f\n",
            factor!($r0 0 $at), factor!($r1 1 $at), factor!($r2 2 $at), factor!($r3 3 $at),
            "7:\n",
            $j0, convert!($r0), convert!($r1), $j1, convert!($r2), convert!($r3),
            $j2, each!("vfmul.vv" 30 $r0 $r1), $j3, each!("vfmul.vv" 30 $r2 $r3),
            each!("vfadd.vv" 31 $r0 $r1 $r2 $r3),
            store_results!($r0 $r1 $r2 $r3)
        )
    };
}

/// Subtracts the columns' factors times the row's, the `$row`th of four, where there is such a row.
macro_rules! factor {
    ($r:literal $row:literal $at:literal) => {
        concat!(
            "li a7, ",
            $row,
            "\n bgeu a7, t4, 7f\n",
            "lw a7, ",
            $at,
            " + 4 * ",
            $row,
            "(s3)\n vnmsac.vx v",
            $r,
            ", a7, v29\n"
        )
    };
}

macro_rules! convert {
    ($r:literal) => {
        concat!("vfcvt.f.x.v v", $r, ", v", $r, "\n")
    };
}

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn run(args: &Args) {
    // SAFETY: the assembly touches only what `Args` lends it, as does this.
    unsafe {
        let columns = &*args.columns;
        run_tiles!(args, args.rows.next_multiple_of(8), dot_u8, lines, finish_rows rescale, {
            inout("a3") args.y => _,
            in("a4") args.y_stride,
            in("a6") columns.zero_point,
            in("fa0") columns.scale,
            in("t3") columns.sums,
            inout("t4") args.rows => _,
            in("t5") columns.factors,
            in("t6") columns.scales,
            in("s2") columns.bias,
            in("s3") args.row_factors,
        })
    }
}
