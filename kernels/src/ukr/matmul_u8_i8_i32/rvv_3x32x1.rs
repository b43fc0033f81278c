//! Three rows by 32 columns, for any VLEN from 128 on.
//!
//! | registers | |
//! |---|---|
//! | v0-v1 | one step of `B` |
//! | v4-v7 | the same, widened to 16 bits |
//! | v8-v31 | sums, eight registers a row |

use super::Args;
use crate::ukr::broadcast::{broadcast_kernel, broadcast_run, step, steps};
use crate::ukr::lines::ask;

broadcast_run!(
    by three: ["t0" "t1" "t2"], narrow: "e16, m4",
    b: [["v4" = "vle8.v v0, (a2)", "vsext.vf2 v4, v0"]] by 32,
    a: "lbu" by 1, "vwmacc.vx"
);
