//! The host engine: thin adapters over `rten-gemm`, `rten-vecmath` and `rten-simd`.

mod erf;
mod gemm;
mod gemm_int;
mod map;
mod nbits;
mod recycle;
mod vectorise;

use std::sync::Once;

pub(crate) use erf::{Erf, Gelu};
pub(crate) use gemm::{F32Panel, F32Panels, F32Rows, PANEL, gemm_f32, matrix};
pub(crate) use gemm_int::{I8Panel, I8Panels, Rows, saturates};
pub(crate) use map::map;
pub(crate) use nbits::nbits_int8;
pub(crate) use vectorise::vectorised;

/// Keeps the loops inside `rten` on the rank that called them, by giving rayon a global pool of one thread. Ranks are
/// the only parallelism of a run. Later calls do nothing.
///
/// Every constructor of the host engine calls this, so it needs no call from outside.
pub fn init() {
    static DONE: Once = Once::new();
    DONE.call_once(|| {
        if rayon::ThreadPoolBuilder::new().num_threads(1).build_global().is_err() && rayon::current_num_threads() > 1 {
            tracing::warn!(
                threads = rayon::current_num_threads(),
                "a global rayon pool exists already; matrix products may use its threads beside the worker threads"
            );
        }
    });
}
