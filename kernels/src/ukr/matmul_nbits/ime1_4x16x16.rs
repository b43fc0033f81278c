//! Four rows by 16 columns: four tiles of 4x4x8 across, whose pairs of registers are rows 0, 1 and rows 2, 3. v30 and v31 are
//! 0-3 and 4-7, twice each.

use super::Args;
use super::tiles::{dots, products, tiles_kernel};
use crate::ukr::dot::dot;

/// The 16 numbers in v28-v29: a register for each tile.
macro_rules! columns {
    () => {
        "vsetvli t0, zero, e32, m1, ta, ma
         vrgather.vv v20, v28, v30
         vrgather.vv v21, v28, v31
         vrgather.vv v22, v29, v30
         vrgather.vv v23, v29, v31"
    };
}

macro_rules! kernel {
    ($args:expr, $steps:ident) => {
        tiles_kernel!(
            $args, $steps of "vl2re8.v", vlenb 32, columns "vl2re32.v" by 64, lines [256],
            "vsetvli t0, zero, e32, m1, ta, ma\n vid.v v30\n vand.vi v30, v30, 3\n vadd.vi v31, v30, 4", columns,
            [0 1 8 9 20] [2 3 10 11 21] [4 5 12 13 22] [6 7 14 15 23]
        )
    };
}

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn run(args: &Args) {
    // SAFETY: the assembly touches only what `Args` lends it; asking for memory is a hint.
    unsafe {
        match args.k_groups {
            2 => kernel!(args, pairs),
            _ => kernel!(args, quads),
        }
    }
}
