//! Three rows by 32 columns, for any VLEN from 128 on.
//!
//! | registers | |
//! |---|---|
//! | v0-v3, v4-v7 | two steps of `B` |
//! | v8-v31 | sums, eight registers a row |

use super::Args;
use crate::ukr::broadcast::{broadcast_kernel, broadcast_run, step, steps};
use crate::ukr::lines::ask;

broadcast_run!(
    by three: ["f0" "f1" "f2"], narrow: "e16, m4",
    b: [["v0" = "vle16.v v0, (a2)"] ["v4" = "vle16.v v4, (a2)"]] by 64,
    a: "flh" by 2, "vfwmacc.vf"
);
