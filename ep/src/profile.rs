//! What runs spend their time with: spans, collected for the file of the option `profile` and for ONNX Runtime's profiler.
//!
//! While a run lasts its threads only write down numbers; the names are put to them when it is over.

mod recorder;
mod text;
mod trace;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use kernels::profile::TARGET;
use serde_json::{Map, Value};
use tracing::Dispatch;
use tracing::dispatcher::{get_default, with_default};

use crate::plan::Program;
use recorder::{Event, Recorder, Recording};
pub(crate) use text::StepText;
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
}

/// Where the spans of a session go.
pub struct Slices {
    file: Option<Trace>,
    kept: Mutex<Option<Vec<Batch>>>,
    wanted: AtomicBool,
}

impl Slices {
    pub(crate) fn new(file: Option<Trace>) -> Self {
        let wanted = AtomicBool::new(file.is_some());
        Self { file, kept: Mutex::new(None), wanted }
    }

    /// Keeps the spans of runs that begin from now on.
    pub fn keep(&self) {
        lock(&self.kept).get_or_insert_default();
        self.wanted.store(true, Ordering::Relaxed);
    }

    /// Ends [`Slices::keep`]: what was kept.
    pub fn take(&self) -> Vec<Slice> {
        self.wanted.store(self.file.is_some(), Ordering::Relaxed);
        let kept = lock(&self.kept).take().unwrap_or_default();
        kept.iter().flat_map(Batch::slices).collect()
    }

    /// Whether runs have to be profiled.
    pub(crate) fn wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }

    fn add(&self, batch: Batch) {
        if let Some(file) = &self.file {
            file.write(&batch);
        }
        if let Some(kept) = &mut *lock(&self.kept) {
            kept.push(batch);
        }
    }
}

/// Spans of a group that have ended, and what they are called.
struct Batch {
    group: usize,
    events: Vec<Event>,
    /// Names of the threads that have worked.
    lanes: Vec<(i32, Arc<str>)>,
    /// The steps of each tape, by its number.
    steps: Vec<(usize, Arc<[StepText]>)>,
}

/// The profile of one group: the subscriber of the threads that run it.
pub(crate) struct Profile {
    dispatch: Dispatch,
    recording: Arc<Mutex<Recording>>,
    slices: Arc<Slices>,
    group: usize,
    /// The steps of the tapes that run now.
    running: Mutex<Vec<(usize, Arc<[StepText]>)>>,
}

impl Profile {
    pub fn new(slices: Arc<Slices>, group: usize) -> Self {
        let recording = Arc::default();
        let recorder = Recorder::new(Arc::clone(&recording), get_default(Dispatch::clone));
        Self { dispatch: Dispatch::new(recorder), recording, slices, group, running: Mutex::default() }
    }

    /// A run of `program`; its spans are where they go afterwards, with those that ended in other runs meanwhile.
    pub fn run<T>(&self, program: &Program, run: impl FnOnce() -> T) -> T {
        let tape = program.tape.id();
        let texts = program.texts.get_or_init(|| text::describe(program));
        lock(&self.running).push((tape, Arc::clone(texts)));
        let result = with_default(&self.dispatch, || {
            let _span = tracing::trace_span!(target: TARGET, "run").entered();
            run()
        });
        let Recording { events, lanes } = std::mem::take(&mut *lock(&self.recording));
        let mut running = lock(&self.running);
        let steps = running.clone();
        if let Some(at) = running.iter().position(|(running, _)| *running == tape) {
            running.swap_remove(at);
        }
        drop(running);
        self.slices.add(Batch { group: self.group, events, lanes, steps });
        result
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
