//! What a run tells a profiler: spans of `tracing` with the target [`TARGET`], at the level TRACE.
//!
//! | span | on the thread of | fields |
//! |---|---|---|
//! | `lease` | the caller | |
//! | `rank` | each rank | `rank`; `tcm`: bytes of scratchpad that it has |
//! | `wait` | each rank | |
//! | `step` | each rank | `tape`: id of the tape; `index` in it and `label` of the step; `kernel`: its driver with shapes and variant |
//!
//! Unless the subscriber of the caller wants them, a span costs the look at one atomic number.

use tracing::Dispatch;
use tracing::dispatcher::{get_default, with_default};

/// Target of the spans.
pub const TARGET: &str = "spacemit::profile";

/// The subscriber of the calling thread, if it wants the spans.
pub(crate) fn subscriber() -> Option<Dispatch> {
    tracing::enabled!(target: TARGET, tracing::Level::TRACE).then(|| get_default(Dispatch::clone))
}

/// Runs `body` with its spans sent to `subscriber`, which is that of another thread.
pub(crate) fn with_subscriber(subscriber: Option<&Dispatch>, body: impl FnOnce()) {
    match subscriber {
        Some(subscriber) => with_default(subscriber, body),
        None => body(),
    }
}

/// An entered span of this name and these fields.
macro_rules! span {
    ($($span:tt)*) => {
        tracing::trace_span!(target: $crate::profile::TARGET, $($span)*).entered()
    };
}
pub(crate) use span;
