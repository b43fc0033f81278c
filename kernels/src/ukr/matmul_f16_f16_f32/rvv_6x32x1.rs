//! Six rows by 32 columns at VLEN 256.
//!
//! | registers | |
//! |---|---|
//! | v0-v1 | one step of `B` |
//! | v8-v31 | sums, four registers a row |

use super::Args;
use crate::ukr::broadcast::{broadcast_kernel, broadcast_run};

broadcast_run!(
    by six: ["f0" "f1" "f2" "f3" "f4" "f5"], narrow: "e16, m2",
    b: "v0" = ["vle16.v v0, (a2)"] by 64,
    a: "flh" by 2, "vfwmacc.vf"
);
