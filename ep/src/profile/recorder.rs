use std::cell::RefCell;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use kernels::profile::TARGET;
use kernels::sys::{Linux, System};
use tracing::field::{Field, Visit};
use tracing::metadata::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Dispatch, Event as TracingEvent, Metadata, Subscriber};

use super::lock;

/// A span as its thread writes it down.
#[derive(Clone, Copy)]
pub(super) struct Event {
    pub kind: &'static str,
    /// The fields of the span that are numbers.
    pub fields: Fields,
    pub start: Instant,
    pub end: Instant,
    /// Kernel id of the thread.
    pub thread: i32,
}

/// Fields of spans, each of one kind only.
#[derive(Clone, Copy, Default)]
pub(super) struct Fields {
    pub tape: u64,
    pub index: u64,
    pub rank: u64,
    pub tcm: u64,
}

impl Visit for Fields {
    fn record_u64(&mut self, field: &Field, value: u64) {
        match field.name() {
            "tape" => self.tape = value,
            "index" => self.index = value,
            "rank" => self.rank = value,
            "tcm" => self.tcm = value,
            _ => {}
        }
    }

    /// Texts are not looked at: the index of a step tells them.
    fn record_debug(&mut self, _: &Field, _: &dyn fmt::Debug) {}
}

/// What has ended since it was looked at last.
#[derive(Default)]
pub(super) struct Recording {
    pub events: Vec<Event>,
    pub lanes: Vec<(i32, Arc<str>)>,
}

/// The spans of a thread that are open or lie within an open one.
struct Lane {
    thread: i32,
    name: Arc<str>,
    events: Vec<Event>,
}

/// Events that a thread has room for from the start.
const ROOM: usize = 1024;

thread_local! {
    static LANE: RefCell<Lane> = RefCell::new(Lane {
        thread: Linux.thread_id(),
        name: std::thread::current().name().unwrap_or("caller").into(),
        events: Vec::with_capacity(ROOM),
    });
}

/// The subscriber: each thread keeps its own spans, of which an ending `rank` or `run` hands over itself and those within.
/// Events are passed on to the subscriber that was there before.
pub(super) struct Recorder {
    recording: Arc<Mutex<Recording>>,
    others: Dispatch,
}

impl Recorder {
    pub fn new(recording: Arc<Mutex<Recording>>, others: Dispatch) -> Self {
        Self { recording, others }
    }

    fn hand_over(&self, lane: &mut Lane, from: usize) {
        let mut recording = lock(&self.recording);
        recording.events.extend(lane.events.drain(from..));
        recording.lanes.push((lane.thread, Arc::clone(&lane.name)));
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

    /// The id is the place in the events of the thread, which is also the one that leaves the span.
    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut fields = Fields::default();
        span.record(&mut fields);
        LANE.with_borrow_mut(|lane| {
            let start = Instant::now();
            let kind = span.metadata().name();
            lane.events.push(Event { kind, fields, start, end: start, thread: lane.thread });
            Id::from_u64(lane.events.len() as u64)
        })
    }

    fn exit(&self, id: &Id) {
        let end = Instant::now();
        LANE.with_borrow_mut(|lane| {
            let at = id.into_u64() as usize - 1;
            let Some(event) = lane.events.get_mut(at) else { return };
            event.end = end;
            if matches!(event.kind, "rank" | "run") {
                self.hand_over(lane, at);
            }
        });
    }

    fn event(&self, event: &TracingEvent<'_>) {
        self.others.event(event);
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
}
