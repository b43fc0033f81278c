//! Six rows by 32 columns at VLEN 256.
//!
//! | registers | |
//! |---|---|
//! | v0-v1, v2-v3 | two steps of `B` |
//! | v8-v31 | sums, four registers a row |

use super::Args;
use crate::ukr::broadcast::{broadcast_kernel, broadcast_run, step, steps};
use crate::ukr::lines::ask;

broadcast_run!(
    by six: ["f0" "f1" "f2" "f3" "f4" "f5"], narrow: "e16, m2",
    b: [["v0" = "vle16.v v0, (a2)"] ["v2" = "vle16.v v2, (a2)"]] by 64,
    a: "flh" by 2, "vfwmacc.vf"
);
