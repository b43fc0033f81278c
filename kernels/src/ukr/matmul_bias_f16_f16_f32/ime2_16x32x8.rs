//! Tiles of 8x8x8; the registers are those of `ukr::ime2`, with the bias of the columns in v31 in the end: -0, which changes no
//! number, where there is none.

use super::Args;
use crate::ukr::ime2::{dot_f16, lines, run_tiles, step, tiles_kernel};
use crate::ukr::ime2_rows::{each, finish_rows, rows, store_results};
use crate::ukr::ime2_transpose::join;

/// Finishes and stores four rows. Meanwhile the joins of the next four are executed one by one.
macro_rules! add_bias {
    (columns) => {
        "lui a7, 0x80000\n vmv.v.x v31, a7\n beqz t3, 7f\n vl1re32.v v31, (t3)\n 7:\n"
    };
    ($r0:literal $r1:literal $r2:literal $r3:literal, $at:literal, $j0:expr, $j1:expr, $j2:expr, $j3:expr) => {
        concat!(
            $j0, each!("vfadd.vv" 31 $r0), $j1, each!("vfadd.vv" 31 $r1), $j2, each!("vfadd.vv" 31 $r2),
            $j3, each!("vfadd.vv" 31 $r3),
            store_results!($r0 $r1 $r2 $r3)
        )
    };
}

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn run(args: &Args) {
    // SAFETY: the assembly touches only what `Args` lends it, as does this.
    unsafe {
        run_tiles!(args, args.rows.next_multiple_of(8), dot_f16, lines, finish_rows add_bias, {
            inout("a3") args.y => _,
            in("a4") args.y_stride,
            in("t3") (*args.columns).0,
            inout("t4") args.rows => _,
        })
    }
}
