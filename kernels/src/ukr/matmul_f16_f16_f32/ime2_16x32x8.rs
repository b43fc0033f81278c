//! Tiles of 8x8x8; the registers are those of `ukr::ime2`.

use super::Args;
use crate::ukr::ime2::{dot_f16, lines, run_tiles, step, tiles_kernel};
use crate::ukr::ime2_rows::{rows, store_sums};
use crate::ukr::ime2_transpose::join;

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn run(args: &Args) {
    // SAFETY: the assembly touches only what `Args` lends it, for `args.rows` rows.
    unsafe {
        run_tiles!(args, args.rows, dot_f16, nothing, store_sums "vfadd.vv", {
            inout("a3") args.c => _,
            in("a4") args.c_stride,
            in("a6") usize::from(args.accumulate),
        })
    }
}
