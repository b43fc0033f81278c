use std::sync::{Mutex, PoisonError};

use super::equipment::Equipment;
use super::grants::Lease;
use super::placement::{Cores, Placement};
use super::pool::{CorePool, Seats};
use super::resident::Resident;
use super::run::{Job, Terms, run_together};
use super::spin::Spin;
use crate::isa::{Core, Isa, Target, isa_of_this_thread};
use crate::profile;
use crate::sys::CpuSet;

/// A fixed set of ranks that run a closure together.
pub struct Team {
    crew: Crew,
    terms: Terms,
}

/// Where the ranks are.
enum Crew {
    /// Ordinary threads. The calling thread is rank 0, and runs take turns.
    Caller { residents: Vec<Resident>, turn: Mutex<()> },
    /// Cores of the process's pool. The calling thread only waits: its mask and class of core stay as they are.
    Leased { seats: Seats, lease: Lease },
}

/// The core that a rank is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankCore {
    pub core: Core,
    /// What the rank measured there.
    pub isa: Isa,
    /// Number of the scratchpad beside it.
    pub scratchpad: Option<usize>,
}

/// Why a team could not start or finish its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TeamError {
    /// No core can serve, and why; or the operating system refuses a thread.
    Start(String),
    /// A rank panicked; every other rank has left the run.
    Panicked,
    /// Other runs kept the cores for longer than the lease allows to wait.
    Busy(String),
}

impl std::fmt::Display for TeamError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TeamError::Start(reason) | TeamError::Busy(reason) => f.write_str(reason),
            TeamError::Panicked => f.write_str("a worker panicked"),
        }
    }
}

impl std::error::Error for TeamError {}

impl Team {
    /// A team of `size` ranks, at least one, on ordinary threads. They use all that their cores can execute.
    ///
    /// # Errors
    /// [`TeamError::Start`]; the threads that did start are joined.
    pub fn new(size: usize) -> Result<Self, TeamError> {
        Self::of_threads(size, Terms { limit: None, spin: Spin::default(), tcm_bytes: 0 })
    }

    /// The workers of `target`, which use what both its kind of core and theirs can execute. They are fewer than it
    /// asks for where too few cores can serve, unless `placement` lists the cores.
    ///
    /// # Errors
    /// [`TeamError::Start`]; the threads that did start are joined.
    pub fn of(target: &Target, placement: &Placement) -> Result<Self, TeamError> {
        let pool = CorePool::of_process(placement.cores != Cores::Inherit);
        Self::on(&pool, target, placement)
    }

    /// The same team, of which no rank executes more than `isa`.
    #[cfg(test)]
    pub(super) fn bounded(mut self, isa: crate::isa::Isa) -> Self {
        self.terms.limit = Some(isa);
        self
    }

    pub(super) fn on(
        pool: &std::sync::Arc<CorePool>,
        target: &Target,
        placement: &Placement,
    ) -> Result<Self, TeamError> {
        let terms = Terms { limit: Some(target.core.isa()), spin: placement.spin, tcm_bytes: placement.tcm.limit() };
        let mask = pool.system().affinity().unwrap_or_default();
        let candidates = placement.candidates(pool.machine(), target, &mask).map_err(TeamError::Start)?;
        let Some(candidates) = candidates else {
            return Self::of_threads(target.workers, terms);
        };
        if candidates.cores.is_empty() {
            let reason =
                format!("the CPU mask {mask} excludes all cores of target {}: {}", target.name(), candidates.masked);
            return Err(TeamError::Start(reason));
        }
        if !candidates.masked.is_empty() {
            tracing::warn!(cores = %candidates.masked, "not used: the CPU mask of this process excludes them");
        }
        let strict = matches!(placement.cores, Cores::These(_));
        let seats = pool.choose(&candidates, target.workers, strict).map_err(TeamError::Start)?;
        if seats.len() < target.workers {
            tracing::warn!(wanted = target.workers, cores = %seats.cpus(), "fewer workers than asked for");
        }
        Ok(Self { crew: Crew::Leased { seats, lease: placement.lease }, terms })
    }

    fn of_threads(size: usize, terms: Terms) -> Result<Self, TeamError> {
        let start = |rank| Resident::start(format!("spacemit-{rank}"), || Ok(Equipment::new(isa_of_this_thread())));
        let residents = (1..size.max(1)).map(start).collect::<Result<_, _>>().map_err(TeamError::Start)?;
        Ok(Self { crew: Crew::Caller { residents, turn: Mutex::new(()) }, terms })
    }

    /// Most ranks of a run.
    pub fn size(&self) -> usize {
        match &self.crew {
            Crew::Caller { residents, .. } => residents.len() + 1,
            Crew::Leased { seats, .. } => seats.len(),
        }
    }

    /// Where the ranks are; empty where ordinary threads serve.
    pub fn cores(&self) -> Vec<RankCore> {
        match &self.crew {
            Crew::Caller { .. } => Vec::new(),
            Crew::Leased { seats, .. } => {
                let rank = |(core, resident): (&Core, &Resident)| RankCore {
                    core: *core,
                    isa: resident.isa(),
                    scratchpad: resident.scratchpad(),
                };
                seats.iter().map(rank).collect()
            }
        }
    }

    /// Runs `job` on every rank and returns when all have left it. Where cores are leased and the lease allows, the
    /// ranks may be fewer than [`Team::size`].
    ///
    /// # Errors
    /// [`TeamError::Panicked`] or [`TeamError::Busy`]; the team stays usable.
    pub fn run(&self, job: &Job<'_>) -> Result<(), TeamError> {
        match &self.crew {
            Crew::Caller { residents, turn } => {
                let turn = || turn.lock().unwrap_or_else(PoisonError::into_inner);
                let _turn = leased(turn);
                let mailboxes = residents.iter().map(Resident::mailbox);
                run_together(job, Some(isa_of_this_thread()), mailboxes, self.terms)
            }
            Crew::Leased { seats, lease } => {
                let grant = leased(|| seats.pool().grants.take(seats.cpus(), lease));
                let grant = grant.ok_or_else(|| busy(seats.cpus(), lease))?;
                let granted = seats.iter().filter(|(core, _)| grant.cores().contains(core.cpu));
                let mailboxes = granted.map(|(_, resident)| resident.mailbox());
                run_together(job, None, mailboxes, self.terms)
            }
        }
    }
}

/// What `take` waits for.
fn leased<T>(take: impl FnOnce() -> T) -> T {
    let _span = profile::span!("lease");
    take()
}

fn busy(cores: &CpuSet, lease: &Lease) -> TeamError {
    TeamError::Busy(format!("other runs keep the cores {cores} for longer than {} ms", lease.wait.as_millis()))
}

#[cfg(all(test, not(loom)))]
mod tests;
