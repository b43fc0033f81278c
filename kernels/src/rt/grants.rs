use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::sync::{Condvar, Mutex, lock, wait};
use crate::sys::CpuSet;

/// How a run waits for cores that other runs use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Longest wait.
    pub wait: Duration,
    /// After it, run on those of the cores that are free; if none is, or without this, the run fails.
    pub fewer: bool,
}

impl Default for Lease {
    fn default() -> Self {
        Self { wait: Duration::from_secs(60), fewer: false }
    }
}

/// Cores that runs take and give back. Each run gets all of its cores or none; those that wait for a common core get it
/// in the order of their coming; runs on disjoint cores never wait for each other.
pub(super) struct Grants {
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Default)]
struct State {
    taken: CpuSet,
    /// Who waits, in the order of their coming: ticket and cores.
    waiting: VecDeque<(u64, CpuSet)>,
    next: u64,
}

/// Cores for one run, given back on drop.
pub(super) struct Grant<'g> {
    grants: &'g Grants,
    cores: CpuSet,
}

impl Grants {
    pub fn new() -> Self {
        Self { state: Mutex::new(State::default()), freed: Condvar::new() }
    }

    /// Takes all `cores`, or some of them where the lease allows; `None` after its time.
    pub fn take(&self, cores: &CpuSet, lease: &Lease) -> Option<Grant<'_>> {
        let mut state = lock(&self.state);
        let ticket = state.queue(cores);
        let start = Instant::now();
        loop {
            let open = state.open_to(ticket, cores);
            let left = lease.wait.saturating_sub(start.elapsed());
            let granted = if open == *cores {
                open
            } else if !left.is_zero() {
                state = wait(&self.freed, state, left);
                continue;
            } else if lease.fewer {
                open
            } else {
                CpuSet::default()
            };
            state.leave_queue(ticket, &granted);
            drop(state);
            // Who waited behind this ticket may go on, above all when it got nothing.
            self.freed.notify_all();
            return (!granted.is_empty()).then_some(Grant { grants: self, cores: granted });
        }
    }
}

impl State {
    fn queue(&mut self, cores: &CpuSet) -> u64 {
        let ticket = self.next;
        self.next += 1;
        self.waiting.push_back((ticket, *cores));
        ticket
    }

    /// Those of `cores` that are free and that nobody waits for who came before `ticket`.
    fn open_to(&self, ticket: u64, cores: &CpuSet) -> CpuSet {
        let before = self.waiting.iter().take_while(|(earlier, _)| *earlier != ticket);
        before.fold(cores.minus(&self.taken), |open, (_, wanted)| open.minus(wanted))
    }

    fn leave_queue(&mut self, ticket: u64, granted: &CpuSet) {
        self.waiting.retain(|(waiting, _)| *waiting != ticket);
        self.taken = self.taken.or(granted);
    }
}

impl Grant<'_> {
    pub fn cores(&self) -> &CpuSet {
        &self.cores
    }
}

impl Drop for Grant<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.grants.state);
        state.taken = state.taken.minus(&self.cores);
        let anybody = !state.waiting.is_empty();
        drop(state);
        if anybody {
            self.grants.freed.notify_all();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
