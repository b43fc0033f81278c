//! What runs spend their time with: spans, collected for the file of the option `profile` and for ONNX Runtime's profiler.

mod trace;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
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
pub(crate) use trace::Trace;

/// A time span of one thread.
#[derive(Clone, Debug)]
pub struct Slice {
    /// Name of the node for a step, else the kind.
    pub name: String,
    /// Name of the span, by which viewers filter: `run`, `lease`, `rank`, `wait` or `step`.
    pub kind: &'static str,
    pub args: Map<String, Value>,
    pub start: Instant,
    pub end: Instant,
    /// Kernel id of the thread.
    pub thread: i32,
    /// Name of the thread, where it is told.
    pub lane: Option<String>,
}

/// Where the slices of a session go.
pub struct Slices {
    file: Option<Trace>,
    kept: Mutex<Option<Vec<Slice>>>,
    wanted: AtomicBool,
}

impl Slices {
    pub(crate) fn new(file: Option<Trace>) -> Self {
        let wanted = AtomicBool::new(file.is_some());
        Self { file, kept: Mutex::new(None), wanted }
    }

    /// Keeps the slices of runs that begin from now on.
    pub fn keep(&self) {
        lock(&self.kept).get_or_insert_default();
        self.wanted.store(true, Ordering::Relaxed);
    }

    /// Ends [`Slices::keep`]: what was kept.
    pub fn take(&self) -> Vec<Slice> {
        self.wanted.store(self.file.is_some(), Ordering::Relaxed);
        lock(&self.kept).take().unwrap_or_default()
    }

    /// Whether runs have to be profiled.
    pub(crate) fn wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }

    fn add(&self, slices: Vec<Slice>) {
        if let Some(kept) = &mut *lock(&self.kept) {
            kept.extend_from_slice(&slices);
        }
        if let Some(file) = &self.file {
            file.write(slices);
        }
    }
}

/// The profile of one group: the subscriber of the threads that run it.
pub(crate) struct Profile(Dispatch);

impl Profile {
    pub fn new(slices: Arc<Slices>, group: usize, labels: Arc<[Label]>) -> Self {
        let others = get_default(Dispatch::clone);
        let (open, closed, next) = (Mutex::default(), Mutex::default(), AtomicU64::new(1));
        Self(Dispatch::new(Recorder { slices, group, labels, others, open, closed, next }))
    }

    /// A run; its slices are where they go afterwards.
    pub fn run<T>(&self, run: impl FnOnce() -> T) -> T {
        with_default(&self.0, || {
            let _span = tracing::trace_span!(target: TARGET, "run").entered();
            run()
        })
    }
}

/// Collects spans while a run lasts. Events are passed on to the subscriber that was there before.
struct Recorder {
    slices: Arc<Slices>,
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
            self.slices.add(std::mem::take(&mut *closed));
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
