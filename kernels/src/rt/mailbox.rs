use std::ptr::NonNull;
use std::sync::PoisonError;
use std::time::Duration;

use super::equipment::Equipment;
use super::run::Run;
use super::spin::Patience;
use super::sync::{AtomicBool, Condvar, Mutex, Ordering, lock};

/// A rank of a run that waits for its thread.
pub(super) struct Task {
    /// No reference: the run may be gone before the call that leaves it has returned.
    run: NonNull<Run<'static>>,
    rank: usize,
}

// SAFETY: a run is shared between threads, and `Task::new`'s caller keeps it alive.
unsafe impl Send for Task {}

impl Task {
    /// # Safety
    /// `run` lives until [`Run::leave`] was called for the task.
    pub unsafe fn new(run: &Run<'_>, rank: usize) -> Self {
        Self { run: NonNull::from(run).cast(), rank }
    }
}

/// Where a resident thread waits for its next task.
pub(super) struct Mailbox {
    /// Something is in the slot, or the mailbox is closed: what a spinning resident looks at.
    full: AtomicBool,
    slot: Mutex<Slot>,
    bell: Condvar,
}

#[derive(Default)]
struct Slot {
    task: Option<Task>,
    closed: bool,
    /// The resident waits for the bell.
    parked: bool,
}

impl Mailbox {
    pub fn new() -> Self {
        Self { full: AtomicBool::new(false), slot: Mutex::new(Slot::default()), bell: Condvar::new() }
    }

    /// Hands over a task. The resident has finished the one before.
    pub fn post(&self, task: Task) {
        self.change(|slot| slot.task = Some(task));
    }

    /// Ends the resident after the task that it may have.
    pub fn close(&self) {
        self.change(|slot| slot.closed = true);
    }

    fn change(&self, change: impl FnOnce(&mut Slot)) {
        let mut slot = lock(&self.slot);
        change(&mut slot);
        let parked = slot.parked;
        self.full.store(true, Ordering::Release);
        drop(slot);
        // Ringing is a system call, so a spinning resident is spared it.
        if parked {
            self.bell.notify_one();
        }
    }

    /// The next task, for which the calling thread spins a while and then sleeps; `None` when the mailbox is closed.
    fn take(&self, spin: Duration) -> Option<Task> {
        let mut patience = Patience::new(spin);
        while !self.full.load(Ordering::Acquire) {
            if !patience.spin() {
                break;
            }
        }
        let mut slot = lock(&self.slot);
        while slot.task.is_none() && !slot.closed {
            slot.parked = true;
            slot = self.bell.wait(slot).unwrap_or_else(PoisonError::into_inner);
        }
        slot.parked = false;
        self.full.store(slot.closed, Ordering::Relaxed);
        slot.task.take()
    }
}

/// Life of a resident thread.
pub(super) fn reside(mailbox: &Mailbox, equipment: &Equipment) {
    let mut spin = Duration::ZERO;
    while let Some(Task { run, rank }) = mailbox.take(spin) {
        // SAFETY: the run lives until it is left below, by the contract of `Task::new`.
        let shared = unsafe { run.as_ref() };
        spin = shared.spin().idle;
        shared.call(rank, equipment);
        // SAFETY: as above; `shared` is not used again.
        unsafe { Run::leave(run) };
    }
}
