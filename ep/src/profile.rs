//! The option `profile`: spans of runs, collected for a file.

mod trace;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use kernels::profile::TARGET;
use kernels::sys::{Linux, System};
use serde_json::{Map, Value};
use tracing::dispatcher::{get_default, with_default};
use tracing::field::{Field, Visit};
use tracing::metadata::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Dispatch, Event, Metadata, Subscriber};

use crate::plan::Label;
use trace::Slice;
pub(crate) use trace::Trace;

/// The profile of one group: the subscriber of the threads that run it.
pub(crate) struct Profile(Dispatch);

impl Profile {
    pub fn new(trace: Arc<Trace>, group: usize, labels: Arc<[Label]>) -> Self {
        let others = get_default(Dispatch::clone);
        let (open, closed, next) = (Mutex::default(), Mutex::default(), AtomicU64::new(1));
        Self(Dispatch::new(Recorder { trace, group, labels, others, open, closed, next }))
    }

    /// A run; what it took, and the parts of it, are in the file afterwards.
    pub fn run<T>(&self, run: impl FnOnce() -> T) -> T {
        with_default(&self.0, || {
            let _span = tracing::trace_span!(target: TARGET, "run").entered();
            run()
        })
    }
}

/// Collects spans while a run lasts. Events are passed on to the subscriber that was there before.
struct Recorder {
    trace: Arc<Trace>,
    group: usize,
    labels: Arc<[Label]>,
    others: Dispatch,
    open: Mutex<HashMap<u64, Open>>,
    closed: Mutex<Vec<Slice>>,
    next: AtomicU64,
}

/// A span that has not ended.
struct Open {
    kind: &'static str,
    name: String,
    args: Map<String, Value>,
    start: Instant,
}

impl Recorder {
    fn open(&self, span: &Attributes<'_>) -> Open {
        let mut fields = Fields(Map::new());
        span.record(&mut fields);
        let mut args = fields.0;
        let kind = span.metadata().name();
        let mut name = kind.to_owned();
        if kind == "run" {
            args.insert("group".into(), self.group.into());
        }
        if let Some(label) = args.remove("label").and_then(|label| label.as_u64()) {
            let label = usize::try_from(label).ok().and_then(|label| self.labels.get(label));
            // Steps behind the last node copy results to where the caller wants them.
            name = label.map_or_else(|| "output".into(), |label| label.node.clone());
            args.insert("op".into(), label.map_or("Identity", |label| &label.op).into());
        }
        Open { kind, name, args, start: Instant::now() }
    }

    fn close(&self, span: Open) {
        let end = Instant::now();
        let Open { kind, name, args, start } = span;
        // The lane of a thread is named by the spans that every run has once.
        let thread = std::thread::current();
        let lane = matches!(kind, "run" | "rank").then(|| thread.name().unwrap_or("caller").to_owned());
        let slice = Slice { name, kind, args, start, end, thread: Linux.thread_id(), lane };
        let mut closed = lock(&self.closed);
        closed.push(slice);
        if kind == "run" {
            self.trace.write(std::mem::take(&mut *closed));
        }
    }
}

impl Subscriber for Recorder {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        if metadata.is_event() { self.others.enabled(metadata) } else { metadata.target() == TARGET }
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::TRACE)
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let open = self.open(span);
        lock(&self.open).insert(id, open);
        Id::from_u64(id)
    }

    fn event(&self, event: &Event<'_>) {
        self.others.event(event);
    }

    fn exit(&self, id: &Id) {
        let span = lock(&self.open).remove(&id.into_u64());
        if let Some(span) = span {
            self.close(span);
        }
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
}

/// The fields of a span.
struct Fields(Map<String, Value>);

impl Visit for Fields {
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}").into());
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
