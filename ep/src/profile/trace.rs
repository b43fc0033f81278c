use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use serde_json::{Value, json};

use super::Slice;
use crate::Error;

/// The file of a session: an array of events in the JSON form of Chrome's trace viewer, which Perfetto reads too. It can be
/// read while the session lasts, for both accept an array without its end.
pub(crate) struct Trace {
    path: PathBuf,
    start: Instant,
    out: Mutex<Out>,
}

struct Out {
    file: BufWriter<File>,
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
            let mut file = BufWriter::new(File::create(path)?);
            write!(file, "[{}", process())?;
            file.flush()?;
            Ok(file)
        };
        let file = create().map_err(|error: io::Error| Error::Option {
            key: "profile".into(),
            reason: format!("'{}' cannot be written: {error}", path.display()),
        })?;
        let out = Out { file, named: HashSet::new(), failed: false };
        Ok(Self { path: path.to_owned(), start: Instant::now(), out: Mutex::new(out) })
    }

    /// Appends the slices of a run.
    pub fn write(&self, slices: Vec<Slice>) {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        if out.failed {
            return;
        }
        if let Err(error) = slices.into_iter().try_for_each(|slice| self.append(&mut out, slice)) {
            tracing::error!(%error, path = %self.path.display(), "the profile ends here");
            out.failed = true;
        }
    }

    fn append(&self, out: &mut Out, slice: Slice) -> io::Result<()> {
        let Slice { name, kind, args, start, end, thread, lane } = slice;
        let pid = std::process::id();
        if let Some(lane) = lane.filter(|_| out.named.insert(thread)) {
            let named = json!({"name": "thread_name", "ph": "M", "pid": pid, "tid": thread, "args": {"name": lane}});
            write!(out.file, ",\n{named}")?;
        }
        let us = |from: Instant, to: Instant| to.saturating_duration_since(from).as_nanos() as f64 / 1e3;
        let (ts, dur) = (us(self.start, start), us(start, end));
        let event = json!({
            "name": name, "cat": kind, "ph": "X", "ts": ts, "dur": dur, "pid": pid, "tid": thread, "args": args,
        });
        write!(out.file, ",\n{event}")
    }
}

fn process() -> Value {
    let pid = std::process::id();
    json!({"name": "process_name", "ph": "M", "pid": pid, "args": {"name": format!("Spacemit, process {pid}")}})
}

impl Drop for Trace {
    fn drop(&mut self) {
        let out = self.out.get_mut().unwrap_or_else(PoisonError::into_inner);
        if !out.failed
            && let Err(error) = writeln!(out.file, "]").and_then(|()| out.file.flush())
        {
            tracing::error!(%error, path = %self.path.display(), "the profile lacks its end");
        }
    }
}
