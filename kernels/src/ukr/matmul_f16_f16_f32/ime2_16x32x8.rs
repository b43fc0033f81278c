//! Tiles of 8x8x8; the registers are those of `ukr::ime2`.

use super::Args;
use crate::ukr::ime2::{run_tiles, step, store_rows, tiles_kernel};

/// `smt.vfwmadot vd, vs1, vs2`: f16 `A` times f16 `B`, added to the pair `vd` of f32.
macro_rules! dot {
    ($d:literal, $a:literal, $b:literal) => {
        concat!(".insn r 0x2b, 4, 0x4f, x", $d, ", x", $a, ", x", $b)
    };
}

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn run(args: &Args) {
    // SAFETY: the assembly touches only what `Args` lends it, for `args.rows` rows.
    unsafe { run_tiles!(args, dot, "vfadd.vv") }
}
