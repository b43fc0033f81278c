//! Three rows by 32 columns, for any VLEN from 128 on.
//!
//! | registers | |
//! |---|---|
//! | v0-v1 | one step of `B` |
//! | v4-v7 | the same, widened to 16 bits |
//! | v8-v31 | sums, eight registers a row |

use super::Args;
use crate::ukr::broadcast::broadcast_kernel;

macro_rules! rows_kernel {
    ($rows:expr, $($list:tt)+) => {
        broadcast_kernel!(
            $rows, wide: "m8", narrow: "e16, m4",
            b: "v4" = ["vle8.v v0, (a2)", "vsext.vf2 v4, v0"] by 32,
            a: "lbu" by 1, "vwmacc.vx",
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
                    rows_kernel!(rows, 0 "t0" "v8", 1 "t1" "v16", 2 "t2" "v24");
                    3
                }
                2 => {
                    rows_kernel!(rows, 0 "t0" "v8", 1 "t1" "v16");
                    2
                }
                _ => {
                    rows_kernel!(rows, 0 "t0" "v8");
                    1
                }
            };
        }
    }
}
