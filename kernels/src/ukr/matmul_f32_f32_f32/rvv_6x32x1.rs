//! Six rows by 32 columns at VLEN 256.
//!
//! | registers | |
//! |---|---|
//! | v0-v3 | one step of `B` |
//! | v8-v31 | sums, four registers a row |

use super::Args;
use crate::ukr::broadcast::broadcast_kernel;

macro_rules! rows_kernel {
    ($rows:expr, $($list:tt)+) => {
        broadcast_kernel!(
            $rows, wide: "m4", narrow: "e32, m4",
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
                6.. => {
                    rows_kernel!(rows, 0 "f0" "v8", 1 "f1" "v12", 2 "f2" "v16", 3 "f3" "v20", 4 "f4" "v24", 5 "f5" "v28");
                    6
                }
                4..6 => {
                    rows_kernel!(rows, 0 "f0" "v8", 1 "f1" "v12", 2 "f2" "v16", 3 "f3" "v20");
                    4
                }
                2..4 => {
                    rows_kernel!(rows, 0 "f0" "v8", 1 "f1" "v12");
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
