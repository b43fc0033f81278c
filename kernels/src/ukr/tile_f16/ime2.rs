//! v0-v7 are the rows, and then v8-v15 the tiles.

use super::Args;
use crate::ukr::ime2_transpose::{join, last, read, transpose};

/// `$block` is what is transposed, a row's part of a tile (1) or a number (0); `$store` stores the registers `$tile` at `a2`.
macro_rules! tiles {
    ($name:ident, $block:literal, $store:literal [$($tile:literal)+]) => {
        /// # Safety
        /// The contract of [`Args`], on a core that meets the needs of its row in the table.
        pub unsafe fn $name(args: &Args) {
            // SAFETY: the assembly touches only the numbers that `Args` lends it.
            unsafe {
                if args.x_stride == 64 * size_of::<half::f16>() {
                    tiles!(args, read!(dense), $block, $store [$($tile)+]);
                } else {
                    tiles!(args, read!(strided), $block, $store [$($tile)+]);
                }
            }
        }
    };
    ($args:expr, $read:expr, $block:literal, $store:literal [$($tile:literal)+]) => {
        std::arch::asm!(
            ".option push",
            ".option arch, +v, +zvfh",
            "vsetvli t0, zero, e16, m1, ta, ma",
            $read,
            transpose!($block, [8 "", 10 "", 12 "", 14 ""]),
            $(concat!($store, ".v v", $tile, ", (a2)\nadd a2, a2, a3"),)+
            ".option pop",
            inout("a0") $args.x => _,
            in("a1") $args.x_stride,
            inout("a2") $args.y => _,
            in("a3") $args.y_stride,
            clobber_abi("C"),
            options(nostack),
        )
    };
}

tiles!(rows, 1, "vs1r" [8 9 10 11 12 13 14 15]);
tiles!(columns, 0, "vs2r" [8 10 12 14]);
