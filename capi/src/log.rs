//! `tracing` events of all crates, forwarded to ONNX Runtime's loggers. Nothing is ever printed.

use std::cell::Cell;
use std::ffi::c_int;
use std::fmt::{self, Write};
use std::panic::PanicHookInfo;
use std::sync::{Mutex, Once, PoisonError};

use ort_sys::{OrtLogger, OrtLoggingLevel};
use tracing::field::{Field, Visit};
use tracing::metadata::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber};

use crate::host::Host;
use crate::status::c_string;

/// A logger of the host: a session's own, or the environment's.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Logger {
    host: Host,
    raw: *const OrtLogger,
}

// SAFETY: ONNX Runtime's loggers may be used from any thread.
unsafe impl Send for Logger {}
// SAFETY: as above.
unsafe impl Sync for Logger {}

thread_local! {
    /// The logger of the callback that this thread is in.
    static CURRENT: Cell<Option<Logger>> = const { Cell::new(None) };
}

/// Loggers of the registered factories, for events of worker threads, which are in no callback.
static FACTORIES: Mutex<Vec<Logger>> = Mutex::new(Vec::new());

/// Restores the thread's previous logger when dropped.
pub(crate) struct Entered(Option<Logger>);

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

impl Logger {
    /// # Safety
    /// `raw` is NULL or a logger that outlives every use of the result.
    pub(crate) unsafe fn new(host: Host, raw: *const OrtLogger) -> Self {
        Self { host, raw }
    }

    /// Sends this thread's events to this logger until the result is dropped.
    pub(crate) fn enter(self) -> Entered {
        Entered(CURRENT.replace(Some(self)))
    }

    pub(crate) fn error(self, message: &str) {
        self.write(OrtLoggingLevel::ORT_LOGGING_LEVEL_ERROR, message, file!(), line!());
    }

    fn enabled(self, level: OrtLoggingLevel) -> bool {
        let mut least = i32::MAX;
        if self.raw.is_null() {
            return false;
        }
        // SAFETY: `raw` is a live logger by `new`'s contract; the enum is an i32 that is only written.
        let status = unsafe { ((*self.host.ort()).Logger_GetLoggingSeverityLevel)(self.raw, (&raw mut least).cast()) };
        self.host.check(status).is_ok() && level as i32 >= least
    }

    fn write(self, level: OrtLoggingLevel, message: &str, file: &str, line: u32) {
        if self.raw.is_null() {
            return;
        }
        let (message, file) = (c_string(message), c_string(file));
        let line = c_int::try_from(line).unwrap_or(0);
        // SAFETY: `raw` is a live logger by `new`'s contract; it copies the strings.
        let status = unsafe {
            ((*self.host.ort()).Logger_LogMessage)(
                self.raw,
                level,
                message.as_ptr(),
                file.as_ptr(),
                line,
                c"Spacemit".as_ptr(),
            )
        };
        // A message that the host cannot write has nowhere else to go.
        let _ = self.host.check(status);
    }
}

/// Makes `logger` the fallback for threads outside callbacks, until [`remove_fallback`].
pub(crate) fn add_fallback(logger: Logger) {
    FACTORIES.lock().unwrap_or_else(PoisonError::into_inner).push(logger);
}

/// Forgets one registration of `logger`; none of its uses is running when this returns.
pub(crate) fn remove_fallback(logger: Logger) {
    let mut loggers = FACTORIES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(at) = loggers.iter().position(|&other| other == logger) {
        loggers.swap_remove(at);
    }
}

/// Sends this library's events and panic messages to ONNX Runtime. Only the first call has an effect.
pub(crate) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Fails if this crate is linked into a Rust program that has its own subscriber, which then gets the events.
        let _ = tracing::subscriber::set_global_default(Forward);
        std::panic::set_hook(Box::new(|info: &PanicHookInfo<'_>| tracing::error!("{info}")));
    });
}

/// Calls `f` with the logger for this thread's events.
fn with_logger<T>(f: impl FnOnce(Logger) -> T) -> Option<T> {
    if let Some(logger) = CURRENT.get() {
        return Some(f(logger));
    }
    FACTORIES.lock().unwrap_or_else(PoisonError::into_inner).last().map(|&logger| f(logger))
}

/// TRACE stays inside: the host has no level below verbose, which takes DEBUG.
fn severity(level: &Level) -> OrtLoggingLevel {
    match *level {
        Level::ERROR => OrtLoggingLevel::ORT_LOGGING_LEVEL_ERROR,
        Level::WARN => OrtLoggingLevel::ORT_LOGGING_LEVEL_WARNING,
        Level::INFO => OrtLoggingLevel::ORT_LOGGING_LEVEL_INFO,
        Level::DEBUG | Level::TRACE => OrtLoggingLevel::ORT_LOGGING_LEVEL_VERBOSE,
    }
}

/// The subscriber: events become messages, spans are not kept.
struct Forward;

impl Subscriber for Forward {
    /// Loggers differ in their levels, and their levels may change.
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if metadata.is_event() { Interest::sometimes() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event()
            && *metadata.level() <= Level::DEBUG
            && with_logger(|logger| logger.enabled(severity(metadata.level()))).unwrap_or(false)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::DEBUG)
    }

    fn event(&self, event: &Event<'_>) {
        let mut message = Message(String::new());
        event.record(&mut message);
        let metadata = event.metadata();
        with_logger(|logger| {
            logger.write(
                severity(metadata.level()),
                &message.0,
                metadata.file().unwrap_or_default(),
                metadata.line().unwrap_or_default(),
            );
        });
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// An event as one line: its message, then its other fields as `name=value`.
struct Message(String);

impl Visit for Message {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a String cannot fail.
        let _ = match field.name() {
            "message" => write!(self.0, "{value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
    }
}
