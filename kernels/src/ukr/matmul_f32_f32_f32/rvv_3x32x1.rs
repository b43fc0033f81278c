//! Three rows by 32 columns, for any VLEN from 128 on.
//!
//! | registers | |
//! |---|---|
//! | v0-v7 | one step of `B` |
//! | v8-v31 | sums, eight registers a row |

use super::Args;
use crate::ukr::broadcast::broadcast_kernel;

macro_rules! rows_kernel {
    ($rows:expr, $($list:tt)+) => {
        broadcast_kernel!(
            $rows, wide: "m8", narrow: "e32, m8",
            b: "v0" = ["vle32.v v0, (a2)"] by 128,
            a: "flw" by 4, "vfmacc.vf",
            $($list)+
        )
    };
}

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn run(args: &Args) {
    let mut row = 0;
    while row < args.rows {
        // SAFETY: the assembly touches only what `Args` lends it, for rows that are left.
        unsafe {
            let rows = args.rows_from(row);
            row += match args.rows - row {
                3.. => {
                    rows_kernel!(rows, 0 "f0" "v8", 1 "f1" "v16", 2 "f2" "v24");
                    3
                }
                2 => {
                    rows_kernel!(rows, 0 "f0" "v8", 1 "f1" "v16");
                    2
                }
                _ => {
                    rows_kernel!(rows, 0 "f0" "v8");
                    1
                }
            };
        }
    }
}
