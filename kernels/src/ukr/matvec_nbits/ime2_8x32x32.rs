//! 32 columns: four tiles of 8x8x16 across, whose rows are eight groups.

use super::Args;
use super::stream::{add_rows, ask, columns, load, multiply, next, row_kernel, two_steps, unpack};
use crate::ukr::dot::dot;
use crate::ukr::ime2_transpose::join;

/// Eight groups of 32 numbers in v16-v23 as tiles: v16-v19 are four groups of eight columns each, v20-v23 the other four.
macro_rules! transpose {
    () => {
        concat!(
            join!(2 24 = 16 17),
            join!(2 26 = 18 19),
            join!(2 28 = 20 21),
            join!(2 30 = 22 23),
            join!(3 16 = 24 26),
            join!(3 18 = 25 27),
            join!(3 20 = 28 30),
            join!(3 22 = 29 31),
        )
    };
}

macro_rules! kernel {
    ($args:expr, $codes:ident [$($line:literal)+]) => {
        row_kernel!(
            $args, $codes, vlenb 128, groups 8, panel 5, columns 8,
            scales 1024 [0 64 128 192 256 320 384 448 512 576 640 704 768 832 896 960], row [0 64 128 192], lines [$($line)+] [1024 1088 1152 1216], ahead 5120,
            add [16 8], transpose, [0 1 8 9 16 20] [2 3 10 11 17 21] [4 5 12 13 18 22] [6 7 14 15 19 23]
        )
    };
}

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn run(args: &Args) {
    // SAFETY: the assembly touches only what `Args` lends it; asking for memory is a hint.
    unsafe {
        match args.planes {
            1 => kernel!(args, bytes [0 64 128 192 256 320 384 448 512 576 640 704 768 832 896 960]),
            _ => kernel!(args, halves [0 64 128 192 256 320 384 448]),
        }
    }
}
