use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::equipment::Equipment;
use super::mailbox::{Mailbox, reside};
use crate::isa::Isa;

/// A thread that waits for tasks until it is dropped.
pub(super) struct Resident {
    mailbox: Arc<Mailbox>,
    thread: Option<JoinHandle<()>>,
    isa: Isa,
    scratchpad: Option<usize>,
}

/// A resident that has not ended this long after it was told to is left to itself: its core may be taken away.
const END_LIMIT: Duration = Duration::from_secs(10);

impl Resident {
    /// Starts a thread. `settle` runs on it before anything else and says what it has, or why it cannot serve.
    ///
    /// # Errors
    /// What `settle` says, or that the system refuses a thread. Nothing is left running.
    pub fn start(
        name: String,
        settle: impl FnOnce() -> Result<Equipment, String> + Send + 'static,
    ) -> Result<Self, String> {
        let mailbox = Arc::new(Mailbox::new());
        let (settled, outcome) = mpsc::sync_channel(1);
        let own = Arc::clone(&mailbox);
        let live = move || {
            let result = settle();
            // The starter waits, so that sending does not fail.
            let told = result.as_ref().map(|equipment| (equipment.isa, equipment.block()));
            let _ = settled.send(told.map_err(String::clone));
            if let Ok(equipment) = result {
                reside(&own, &equipment);
            }
        };
        let thread = thread::Builder::new().name(name).spawn(live);
        let thread = thread.map_err(|error| format!("a worker thread could not be started: {error}"))?;
        let told = outcome.recv().unwrap_or_else(|_| Err("a worker thread panicked at its start".into()));
        let mut resident = Self { mailbox, thread: Some(thread), isa: Isa::SCALAR, scratchpad: None };
        (resident.isa, resident.scratchpad) = told?;
        Ok(resident)
    }

    pub fn mailbox(&self) -> &Mailbox {
        &self.mailbox
    }

    /// What the thread can execute.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// Number of the scratchpad beside its core.
    pub fn scratchpad(&self) -> Option<usize> {
        self.scratchpad
    }
}

impl Drop for Resident {
    fn drop(&mut self) {
        self.mailbox.close();
        let Some(thread) = self.thread.take() else { return };
        let deadline = Instant::now() + END_LIMIT;
        while !thread.is_finished() {
            if Instant::now() > deadline {
                tracing::error!(thread = thread.thread().name(), "a worker thread does not end and is left to itself");
                return;
            }
            thread::sleep(Duration::from_micros(20));
        }
        // A resident catches the panics of its jobs, so joining cannot fail.
        let _ = thread.join();
    }
}
