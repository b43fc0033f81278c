use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::recorder::Event;
use super::{Batch, lock};
use crate::Error;

/// The file of a session: an array of events in the JSON form of Chrome's trace viewer, which Perfetto reads too. It can be
/// read after every run, for both accept an array without its end.
pub(crate) struct Trace {
    path: PathBuf,
    start: Instant,
    out: Mutex<Out>,
}

struct Out {
    file: File,
    /// What is written next.
    text: String,
    /// Threads whose names are written.
    named: HashSet<i32>,
    /// An error was told; nothing is written after it.
    failed: bool,
}

impl Trace {
    /// # Errors
    /// [`Error::Option`] when the file cannot be written.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let create = || {
            let mut file = File::create(path)?;
            write!(file, "[{}", process())?;
            Ok(file)
        };
        let file = create().map_err(|error: io::Error| Error::Option {
            key: "profile".into(),
            reason: format!("'{}' cannot be written: {error}", path.display()),
        })?;
        let out = Out { file, text: String::new(), named: HashSet::new(), failed: false };
        Ok(Self { path: path.to_owned(), start: Instant::now(), out: Mutex::new(out) })
    }

    /// Appends the spans of a run by one system call.
    pub(super) fn write(&self, batch: &Batch) {
        let mut out = lock(&self.out);
        let Out { file, text, named, failed } = &mut *out;
        if *failed {
            return;
        }
        text.clear();
        let pid = std::process::id();
        for (thread, lane) in batch.lanes.iter().filter(|(thread, _)| named.insert(*thread)) {
            let lane = json!({"name": "thread_name", "ph": "M", "pid": pid, "tid": thread, "args": {"name": **lane}});
            // Writing to a string does not fail.
            let _ = write!(text, ",\n{lane}");
        }
        batch.events.iter().for_each(|event| self.append(text, batch, event, pid));
        if let Err(error) = file.write_all(text.as_bytes()) {
            tracing::error!(%error, path = %self.path.display(), "the profile ends here");
            *failed = true;
        }
    }

    fn append(&self, text: &mut String, batch: &Batch, event: &Event, pid: u32) {
        let &Event { kind, start, end, thread, .. } = event;
        text.push_str(",\n{");
        batch.write_text(event, text);
        let [ts, dur] = [(self.start, start), (start, end)].map(|(from, to)| to.saturating_duration_since(from));
        let us = |time: Duration| (time.as_micros(), time.subsec_nanos() % 1000);
        let ((ts, ts_ns), (dur, dur_ns)) = (us(ts), us(dur));
        // Writing to a string does not fail.
        let _ = write!(
            text,
            r#","cat":"{kind}","ph":"X","ts":{ts}.{ts_ns:03},"dur":{dur}.{dur_ns:03},"pid":{pid},"tid":{thread}}}"#
        );
    }
}

fn process() -> Value {
    let pid = std::process::id();
    json!({"name": "process_name", "ph": "M", "pid": pid, "args": {"name": format!("Spacemit, process {pid}")}})
}

impl Drop for Trace {
    fn drop(&mut self) {
        let mut out = lock(&self.out);
        if !out.failed
            && let Err(error) = writeln!(out.file, "]")
        {
            tracing::error!(%error, path = %self.path.display(), "the profile lacks its end");
        }
    }
}
