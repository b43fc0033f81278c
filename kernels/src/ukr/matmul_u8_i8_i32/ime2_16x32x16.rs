//! Tiles of 8x8x16; the registers are those of `ukr::ime2`.

use super::Args;
use crate::ukr::ime2::{run_tiles, step, store_rows, tiles_kernel};

/// `smt.vmadotus vd, vs1, vs2, i8`: unsigned `A` times signed `B`, added to the pair `vd`.
macro_rules! dot {
    ($d:literal, $a:literal, $b:literal) => {
        concat!(".insn r 0x2b, 1, 0x71, x", $d, ", x", $a, ", x", $b)
    };
}

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn run(args: &Args) {
    // SAFETY: the assembly touches only what `Args` lends it, for `args.rows` rows.
    unsafe { run_tiles!(args, dot, "vadd.vv") }
}
