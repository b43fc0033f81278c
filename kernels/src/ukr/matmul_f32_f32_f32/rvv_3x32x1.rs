//! Three rows by 32 columns, for any VLEN from 128 on.
//!
//! | registers | |
//! |---|---|
//! | v0-v7 | one step of `B` |
//! | v8-v31 | sums, eight registers a row |

use super::Args;
use crate::ukr::broadcast::{broadcast_kernel, broadcast_run, step, steps};
use crate::ukr::lines::ask;

broadcast_run!(
    by three: ["f0" "f1" "f2"], narrow: "e32, m8",
    b: [["v0" = "vle32.v v0, (a2)"]] by 128,
    a: "flw" by 4, "vfmacc.vf"
);
