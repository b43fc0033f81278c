//! Sixteen rows by 32 columns at VLEN 1024, where a row of sums is one register.
//!
//! | registers | |
//! |---|---|
//! | v0, v1 | two steps of `B` |
//! | v8-v23 | sums, one register a row |

use super::Args;
use crate::ukr::broadcast::{broadcast_kernel, broadcast_run, step, steps};
use crate::ukr::lines::ask;

broadcast_run!(rows =>
    16.. => 16 [
        0 "f0" "v8", 1 "f1" "v9", 2 "f2" "v10", 3 "f3" "v11", 4 "f4" "v12", 5 "f5" "v13", 6 "f6" "v14", 7 "f7" "v15",
        8 "f10" "v16", 9 "f11" "v17", 10 "f12" "v18", 11 "f13" "v19", 12 "f14" "v20", 13 "f15" "v21", 14 "f16" "v22",
        15 "f17" "v23"
    ],
    8..16 => 8 [
        0 "f0" "v8", 1 "f1" "v9", 2 "f2" "v10", 3 "f3" "v11", 4 "f4" "v12", 5 "f5" "v13", 6 "f6" "v14", 7 "f7" "v15"
    ],
    4..8 => 4 [0 "f0" "v8", 1 "f1" "v9", 2 "f2" "v10", 3 "f3" "v11"],
    2..4 => 2 [0 "f0" "v8", 1 "f1" "v9"],
    _ => 1 [0 "f0" "v8"];
    {
        wide: "m1", narrow: "e32, m1",
        b: [["v0" = "vle32.v v0, (a2)"] ["v1" = "vle32.v v1, (a2)"]] by 128,
        a: "flw" by 4, "vfmacc.vf"
    }
);
