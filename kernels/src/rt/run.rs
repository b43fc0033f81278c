use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use super::barrier::Barrier;
use super::equipment::{Equipment, Scratchpad};
use super::mailbox::{Mailbox, Task};
use super::spin::{Patience, Spin};
use super::sync::{AtomicBool, AtomicUsize, Ordering, Thread, thread};
use super::team::TeamError;
use super::worker::Worker;
use crate::isa::Isa;

pub(super) type Job<'a> = dyn Fn(&Worker<'_>) + Sync + 'a;

/// One run of a team: what its ranks share. It lives on the stack of the thread that asked for it.
pub(super) struct Run<'j> {
    job: &'j Job<'j>,
    barrier: Barrier,
    /// Residents that have not left the job, and the caller while it hands out tasks.
    running: AtomicUsize,
    panicked: AtomicBool,
    /// The thread to wake when all have left; none where it stays awake.
    caller: Option<Thread>,
    size: usize,
    terms: Terms,
}

/// What a team grants its runs.
#[derive(Clone, Copy)]
pub(super) struct Terms {
    /// Bound of what ranks may execute.
    pub limit: Option<Isa>,
    pub spin: Spin,
    /// Most bytes of a scratchpad.
    pub tcm_bytes: usize,
}

/// Runs `job` on the calling thread, if `caller` says what it can execute, and on `residents`; returns when all have
/// left it. Ranks are counted in this order.
///
/// # Errors
/// [`TeamError::Panicked`] when a rank did.
pub(super) fn run_together<'m>(
    job: &Job<'_>,
    caller: Option<Isa>,
    residents: impl Iterator<Item = &'m Mailbox> + Clone,
    terms: Terms,
) -> Result<(), TeamError> {
    let first = usize::from(caller.is_some());
    let size = first + residents.clone().count();
    let run = Run {
        job,
        barrier: Barrier::new(size, terms.spin.barrier),
        running: AtomicUsize::new(1),
        panicked: AtomicBool::new(false),
        caller: caller.is_none().then(thread::current),
        size,
        terms,
    };
    for (rank, resident) in (first..).zip(residents) {
        run.running.fetch_add(1, Ordering::Relaxed);
        // SAFETY: a resident uses the run until it counts itself out of `running`, and `wait` returns only when all
        // have. Nothing between here and there unwinds: `call` catches.
        resident.post(unsafe { Task::new(&run, rank) });
    }
    if let Some(isa) = caller {
        run.call(0, &Equipment::new(isa));
    }
    run.wait();
    if run.panicked.load(Ordering::Acquire) { Err(TeamError::Panicked) } else { Ok(()) }
}

impl Run<'_> {
    /// How long a resident spins after this run.
    pub fn spin(&self) -> Spin {
        self.terms.spin
    }

    /// The job on the calling thread.
    pub fn call(&self, rank: usize, equipment: &Equipment) {
        let isa = self.terms.limit.map_or(equipment.isa, |limit| equipment.isa.and(limit));
        let limit = self.terms.tcm_bytes;
        let scratchpad = equipment.tcm.as_ref().map(|(tcm, cpu)| Scratchpad { tcm, cpu: *cpu, limit });
        let worker = Worker::new(rank, self.size, &self.barrier, isa).with_scratchpad(scratchpad);
        if catch_unwind(AssertUnwindSafe(|| (self.job)(&worker))).is_err() {
            self.panicked.store(true, Ordering::Release);
            self.barrier.poison();
        }
    }

    /// Counts a resident out. The run may be gone before this returns, which a reference to it would forbid.
    ///
    /// # Safety
    /// `run` is alive, counts the resident among `running`, and is not used by it afterwards.
    pub unsafe fn leave(run: NonNull<Self>) {
        // SAFETY: the run is alive until the count falls below; the caller is taken before.
        let (caller, running) = unsafe { ((*run.as_ptr()).caller.clone(), &(*run.as_ptr()).running) };
        if running.fetch_sub(1, Ordering::AcqRel) == 1
            && let Some(caller) = caller
        {
            caller.unpark();
        }
    }

    /// Waits until every resident has left.
    fn wait(&self) {
        let mut running = self.running.fetch_sub(1, Ordering::AcqRel) - 1;
        let mut patience = Patience::new(self.terms.spin.idle);
        while running != 0 {
            if !patience.spin() {
                if self.caller.is_some() { thread::park() } else { thread::yield_now() }
            }
            running = self.running.load(Ordering::Acquire);
        }
    }
}
