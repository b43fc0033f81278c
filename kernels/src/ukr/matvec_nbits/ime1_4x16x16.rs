//! 16 columns: four tiles of 4x4x8 across, whose rows are four groups.

use super::Args;
use super::stream::{add_rows, ask, columns, load, multiply, next, row_kernel, two_steps, unpack};
use crate::ukr::dot::dot;

/// Four groups of 16 numbers in v16-v23 as tiles: v24, v18, v25 and v19 are two groups of four columns each, v26, v22, v27 and
/// v23 the other two.
macro_rules! transpose {
    () => {
        concat!(
            "vmv.v.v v24, v16\n vmv.v.v v25, v17\n vmv.v.v v26, v20\n vmv.v.v v27, v21\n",
            "vslideup.vi v24, v18, 4\n vslideup.vi v25, v19, 4\n vslideup.vi v26, v22, 4\n vslideup.vi v27, v23, 4\n",
            "vsetivli zero, 4, e32, m1, tu, ma\n",
            "vslidedown.vi v18, v16, 4\n vslidedown.vi v19, v17, 4\n vslidedown.vi v22, v20, 4\n vslidedown.vi v23, v21, 4\n",
            "vsetvli t0, zero, e32, m1, ta, ma\n",
        )
    };
}

macro_rules! kernel {
    ($args:expr, $codes:ident [$($line:literal)+]) => {
        row_kernel!(
            $args, $codes, vlenb 32, groups 4, panel 4, columns 4, scales 256 [0 64 128 192], row [0], lines [$($line)+] [64], ahead 384,
            add [4], transpose, [0 1 8 9 24 26] [2 3 10 11 18 22] [4 5 12 13 25 27] [6 7 14 15 19 23]
        )
    };
}

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn run(args: &Args) {
    // SAFETY: the assembly touches only what `Args` lends it; asking for memory is a hint.
    unsafe {
        match args.planes {
            1 => kernel!(args, bytes [0 64 128 192]),
            _ => kernel!(args, halves [0 64]),
        }
    }
}
