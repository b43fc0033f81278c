use std::mem::transmute;
use std::sync::PoisonError;
use std::time::Duration;

use super::equipment::Equipment;
use super::run::Run;
use super::spin::Patience;
use super::sync::{AtomicBool, Condvar, Mutex, Ordering, lock};

/// A rank of a run that waits for its thread.
pub(super) struct Task {
    run: &'static Run<'static>,
    rank: usize,
}

impl Task {
    /// # Safety
    /// `run` outlives the task and the thread that takes it: until then [`Task::leave`] has been called.
    pub unsafe fn new(run: &Run<'_>, rank: usize) -> Self {
        // SAFETY: only lifetimes are extended, by this function's contract.
        let run = unsafe { transmute::<&Run<'_>, &'static Run<'static>>(run) };
        Self { run, rank }
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
        spin = run.spin().idle;
        run.call(rank, equipment);
        run.leave();
    }
}
