//! Eight rows by 32 columns: four tiles of 8x8x16 across, whose pairs of registers are rows 0-3 and rows 4-7.

use super::Args;
use super::tiles::{dots, products, tiles_kernel};
use crate::ukr::dot::dot;

/// The 32 numbers in v28, a register for each tile: `smt.vpack.vv` puts every block of eight numbers twice, then every block
/// of 16.
macro_rules! columns {
    () => {
        "vsetvli t0, zero, e32, m1, ta, ma
         .insn r 0x2b, 2, 0x33, x30, x28, x28
         .insn r 0x2b, 3, 0x33, x20, x30, x30
         .insn r 0x2b, 3, 0x33, x22, x31, x31"
    };
}

macro_rules! kernel {
    ($args:expr, $steps:ident of $load:literal) => {
        tiles_kernel!(
            $args, $steps of $load, vlenb 128, columns "vl1re32.v" by 128, lines [512 576 640 704], "", columns,
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
            1 => kernel!(args, single of "vl1re8.v"),
            2 => kernel!(args, pairs of "vl2re8.v"),
            _ => kernel!(args, quads of "vl2re8.v"),
        }
    }
}
