//! Six rows by 32 columns at VLEN 256.
//!
//! | registers | |
//! |---|---|
//! | v0 | one step of `B` |
//! | v2-v3 | the same, widened to 16 bits |
//! | v8-v31 | sums, four registers a row |

use super::Args;
use crate::ukr::broadcast::broadcast_kernel;

macro_rules! rows_kernel {
    ($rows:expr, $($list:tt)+) => {
        broadcast_kernel!(
            $rows, wide: "m4", narrow: "e16, m2",
            b: "v2" = ["vle8.v v0, (a2)", "vsext.vf2 v2, v0"] by 32,
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
                6.. => {
                    rows_kernel!(rows, 0 "t0" "v8", 1 "t1" "v12", 2 "t2" "v16", 3 "t3" "v20", 4 "t4" "v24", 5 "t5" "v28");
                    6
                }
                4..6 => {
                    rows_kernel!(rows, 0 "t0" "v8", 1 "t1" "v12", 2 "t2" "v16", 3 "t3" "v20");
                    4
                }
                2..4 => {
                    rows_kernel!(rows, 0 "t0" "v8", 1 "t1" "v12");
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
