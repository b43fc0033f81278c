//! Six rows by 32 columns at VLEN 256.
//!
//! | registers | |
//! |---|---|
//! | v0-v3, v4-v7 | two steps of `B` |
//! | v8-v31 | sums, four registers a row |

use super::Args;
use crate::ukr::broadcast::{broadcast_kernel, broadcast_run, step, steps};
use crate::ukr::lines::ask;

broadcast_run!(
    by six: ["f0" "f1" "f2" "f3" "f4" "f5"], narrow: "e32, m4",
    b: [["v0" = "vle32.v v0, (a2)"] ["v4" = "vle32.v v4, (a2)"]] by 128,
    a: "flw" by 4, "vfmacc.vf"
);
