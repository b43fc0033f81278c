use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle, Thread};

use super::barrier::Barrier;
use super::worker::Worker;
use crate::isa::{Isa, Target, isa_of_this_thread};

/// A fixed set of ranks that run a closure together. The calling thread is rank 0; the others are resident threads
/// that spin a little between runs and then park.
///
/// Runs take turns: a second caller waits until the first has finished.
pub struct Team {
    shared: Arc<Shared>,
    threads: Vec<Resident>,
    turn: Mutex<()>,
}

/// Why a team could not start or finish its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TeamError {
    /// The operating system refused a thread.
    Spawn,
    /// A rank panicked; every other rank has left the run.
    Panicked,
}

impl std::fmt::Display for TeamError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            TeamError::Spawn => "a worker thread could not be started",
            TeamError::Panicked => "a worker panicked",
        })
    }
}

impl std::error::Error for TeamError {}

type Job<'a> = dyn Fn(&Worker<'_>) + Sync + 'a;

struct Resident {
    thread: Thread,
    handle: Option<JoinHandle<()>>,
}

struct Shared {
    /// Counts jobs; a change tells the residents that `job` is new.
    epoch: AtomicUsize,
    job: Mutex<Option<&'static Job<'static>>>,
    /// Residents that have not finished the current job.
    running: AtomicUsize,
    panicked: AtomicBool,
    shutdown: AtomicBool,
    /// One flag for each resident: it is parked or about to be.
    parked: Vec<AtomicBool>,
    barrier: Barrier,
    size: usize,
    /// Bound of what ranks may execute.
    limit: Option<Isa>,
}

/// Spins of a resident that waits for its next job, before it parks: some tens of microseconds.
const IDLE_SPINS: u32 = 4_000;

impl Team {
    /// A team of `size` ranks, at least one, that use all that their cores can execute.
    ///
    /// # Errors
    /// [`TeamError::Spawn`]; the threads that did start are joined.
    pub fn new(size: usize) -> Result<Self, TeamError> {
        Self::start(size, None)
    }

    /// The workers of `target`, which use what both its kind of core and theirs can execute.
    ///
    /// # Errors
    /// [`TeamError::Spawn`]; the threads that did start are joined.
    pub fn of(target: &Target) -> Result<Self, TeamError> {
        Self::start(target.workers, Some(target.core.isa()))
    }

    fn start(size: usize, limit: Option<Isa>) -> Result<Self, TeamError> {
        let size = size.max(1);
        let shared = Arc::new(Shared {
            epoch: AtomicUsize::new(0),
            job: Mutex::new(None),
            running: AtomicUsize::new(0),
            panicked: AtomicBool::new(false),
            shutdown: AtomicBool::new(false),
            parked: (1..size).map(|_| AtomicBool::new(false)).collect(),
            barrier: Barrier::new(size),
            size,
            limit,
        });
        let mut team = Self { shared, threads: Vec::with_capacity(size - 1), turn: Mutex::new(()) };
        for rank in 1..size {
            let shared = Arc::clone(&team.shared);
            let handle = thread::Builder::new()
                .name(format!("spacemit-{rank}"))
                .spawn(move || reside(&shared, rank))
                .map_err(|_| TeamError::Spawn)?;
            team.threads.push(Resident { thread: handle.thread().clone(), handle: Some(handle) });
        }
        Ok(team)
    }

    pub fn size(&self) -> usize {
        self.shared.size
    }

    /// Runs `job` on every rank and returns when all have left it.
    ///
    /// # Errors
    /// [`TeamError::Panicked`]; the team stays usable.
    pub fn run(&self, job: &Job<'_>) -> Result<(), TeamError> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let shared = &*self.shared;
        shared.barrier.reset();
        shared.panicked.store(false, Ordering::Relaxed);
        if !self.threads.is_empty() {
            // SAFETY: only the lifetime is extended. No resident touches `job` after it has counted itself out of
            // `running`, and this function does not return (or unwind: `call` catches) before `running` is zero.
            let job = unsafe { std::mem::transmute::<&Job<'_>, &'static Job<'static>>(job) };
            *shared.job.lock().unwrap_or_else(PoisonError::into_inner) = Some(job);
            shared.running.store(self.threads.len(), Ordering::Relaxed);
            shared.epoch.fetch_add(1, Ordering::SeqCst);
            self.wake();
        }
        shared.call(job, 0, shared.isa());
        let mut spins = 0u32;
        while shared.running.load(Ordering::Acquire) != 0 {
            spins += 1;
            if spins.is_multiple_of(IDLE_SPINS) { thread::yield_now() } else { std::hint::spin_loop() }
        }
        if shared.panicked.load(Ordering::Acquire) { Err(TeamError::Panicked) } else { Ok(()) }
    }

    fn wake(&self) {
        for (resident, parked) in self.threads.iter().zip(&self.shared.parked) {
            if parked.load(Ordering::SeqCst) {
                resident.thread.unpark();
            }
        }
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.shared.shutdown.store(true, Ordering::SeqCst);
        for resident in &mut self.threads {
            resident.thread.unpark();
            if let Some(handle) = resident.handle.take() {
                // A resident catches the panics of its jobs, so joining cannot fail.
                let _ = handle.join();
            }
        }
    }
}

impl Shared {
    /// What the calling thread may execute.
    fn isa(&self) -> Isa {
        let isa = isa_of_this_thread();
        self.limit.map_or(isa, |limit| isa.and(limit))
    }

    fn call(&self, job: &Job<'_>, rank: usize, isa: Isa) {
        let worker = Worker::new(rank, self.size, &self.barrier, isa);
        if catch_unwind(AssertUnwindSafe(|| job(&worker))).is_err() {
            self.panicked.store(true, Ordering::Release);
            self.barrier.poison();
        }
    }

    /// Waits for an epoch other than `seen`; `None` when the team is dropped.
    fn next_epoch(&self, seen: usize, rank: usize) -> Option<usize> {
        let parked = &self.parked[rank - 1];
        let mut spins = 0;
        loop {
            if self.shutdown.load(Ordering::SeqCst) {
                return None;
            }
            let epoch = self.epoch.load(Ordering::SeqCst);
            if epoch != seen {
                parked.store(false, Ordering::SeqCst);
                return Some(epoch);
            }
            if spins < IDLE_SPINS {
                spins += 1;
                std::hint::spin_loop();
            } else if parked.swap(true, Ordering::SeqCst) {
                // The flag was already set when the epoch was read above, so a new job would have unparked us.
                thread::park();
            }
        }
    }
}

fn reside(shared: &Shared, rank: usize) {
    let isa = shared.isa();
    let mut epoch = 0;
    while let Some(next) = shared.next_epoch(epoch, rank) {
        epoch = next;
        let job = *shared.job.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(job) = job {
            shared.call(job, rank, isa);
        }
        shared.running.fetch_sub(1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_runs_once_and_barriers_order_writes() {
        for size in [1, 2, 4] {
            let team = Team::new(size).unwrap();
            for _ in 0..200 {
                let cells: Vec<AtomicUsize> = (0..size).map(|_| AtomicUsize::new(0)).collect();
                team.run(&|worker| {
                    cells[worker.rank()].fetch_add(1, Ordering::Relaxed);
                    worker.barrier().unwrap();
                    let seen: usize = cells.iter().map(|cell| cell.load(Ordering::Relaxed)).sum();
                    assert_eq!(seen, worker.size());
                })
                .unwrap();
            }
        }
    }

    #[test]
    fn a_panic_on_any_rank_frees_the_others_and_the_team_lives_on() {
        let team = Team::new(3).unwrap();
        for guilty in 0..3 {
            let result = team.run(&|worker| {
                assert_ne!(worker.rank(), guilty, "deliberate");
                while worker.barrier().is_ok() {}
            });
            assert_eq!(result, Err(TeamError::Panicked));
        }
        team.run(&|worker| worker.barrier().unwrap()).unwrap();
    }

    #[test]
    fn callers_take_turns() {
        let team = Team::new(2).unwrap();
        let inside = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        team.run(&|worker| {
                            inside.fetch_add(1, Ordering::SeqCst);
                            worker.barrier().unwrap();
                            assert_eq!(inside.load(Ordering::SeqCst), 2);
                            worker.barrier().unwrap();
                            inside.fetch_sub(1, Ordering::SeqCst);
                            worker.barrier().unwrap();
                        })
                        .unwrap();
                    }
                });
            }
        });
    }
}
