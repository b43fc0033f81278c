//! Six rows by 32 columns at VLEN 256.
//!
//! | registers | |
//! |---|---|
//! | v0, v1 | two steps of `B` |
//! | v2-v3, v4-v5 | the same, widened to 16 bits |
//! | v8-v31 | sums, four registers a row |

use super::Args;
use crate::ukr::broadcast::{broadcast_kernel, broadcast_run, step, steps};
use crate::ukr::lines::ask;

broadcast_run!(
    by six: ["t0" "t1" "t2" "t3" "t4" "t5"], narrow: "e16, m2",
    b: [["v2" = "vle8.v v0, (a2)", "vsext.vf2 v2, v0"] ["v4" = "vle8.v v1, (a2)", "vsext.vf2 v4, v1"]] by 32,
    a: "lbu" by 1, "vwmacc.vx"
);
