use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use super::equipment::Equipment;
use super::grants::Grants;
use super::placement::Candidates;
use super::resident::Resident;
use crate::isa::{Core, CoreKind, Isa, Machine, measure};
use crate::sys::{CpuSet, Linux, System};
use crate::tcm::Tcm;

/// K3 moves a thread to the class of AI cores when its id is written here. The thread must not have used vectors
/// before (else `EINVAL`); the mark cannot be taken back, and threads that it starts inherit it.
const SET_AI_THREAD: &str = "/proc/set_ai_thread";

/// The process's workers: one resident thread a core, started when a team first asks for the core. Teams that share a
/// core share its thread and take turns.
pub(super) struct CorePool {
    system: Arc<dyn System>,
    machine: Machine,
    /// Whether each thread is bound to its core.
    bound: bool,
    seats: Vec<Seat>,
    pub grants: Grants,
    /// Held while a team chooses.
    choosing: Mutex<()>,
    /// Opens the scratchpads beside cores of a kind.
    open_tcm: fn(CoreKind) -> Option<Tcm>,
    tcm: OnceLock<Option<Arc<Tcm>>>,
}

/// One core of the pool.
struct Seat {
    core: Core,
    /// Teams that have this core.
    teams: AtomicUsize,
    resident: OnceLock<Result<Resident, String>>,
}

/// Cores of one team, kept until it is dropped: their caches and scratchpads stay warm.
pub(super) struct Seats {
    pool: Arc<CorePool>,
    /// Indices into the pool's seats, by rank.
    chosen: Vec<usize>,
    cpus: CpuSet,
}

impl CorePool {
    /// The pool of this process. It ends with the last team that uses it.
    pub fn of_process(bound: bool) -> Arc<Self> {
        static POOLS: [Mutex<Weak<CorePool>>; 2] = [const { Mutex::new(Weak::new()) }; 2];
        let mut pool = POOLS[usize::from(bound)].lock().unwrap_or_else(PoisonError::into_inner);
        pool.upgrade().unwrap_or_else(|| {
            let started = Arc::new(Self::new(Arc::new(Linux), Machine::here().clone(), bound, Tcm::open));
            *pool = Arc::downgrade(&started);
            started
        })
    }

    pub fn new(system: Arc<dyn System>, machine: Machine, bound: bool, open_tcm: fn(CoreKind) -> Option<Tcm>) -> Self {
        let seat = |&core| Seat { core, teams: AtomicUsize::new(0), resident: OnceLock::new() };
        let seats = machine.cores.iter().map(seat).collect();
        let (grants, choosing, tcm) = (Grants::new(), Mutex::new(()), OnceLock::new());
        Self { system, machine, bound, seats, grants, choosing, open_tcm, tcm }
    }

    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    pub fn system(&self) -> &dyn System {
        &*self.system
    }

    /// Takes `count` of the candidates, or as many as can serve: cores that fewer teams use first, then in their order.
    /// Their threads are started, bound, and the binding is read back.
    ///
    /// # Errors
    /// Why no core can serve. With `strict` also why one of the first `count` cannot.
    pub fn choose(self: &Arc<Self>, candidates: &Candidates, count: usize, strict: bool) -> Result<Seats, String> {
        let _choosing = self.choosing.lock().unwrap_or_else(PoisonError::into_inner);
        let position = |core: &Core| self.seats.iter().position(|seat| seat.core.cpu == core.cpu);
        let mut order: Vec<usize> = candidates.cores.iter().filter_map(position).collect();
        if !strict {
            order.sort_by_key(|&seat| self.seats[seat].teams.load(Ordering::Relaxed));
        }
        let mut seats = Seats { pool: Arc::clone(self), chosen: Vec::new(), cpus: CpuSet::default() };
        let mut refusals = Vec::new();
        for index in order {
            if seats.chosen.len() == count {
                break;
            }
            match self.start(&self.seats[index]) {
                Ok(_) => seats.take(index),
                Err(reason) if strict => return Err(reason.clone()),
                Err(reason) => refusals.push(reason.clone()),
            }
        }
        for reason in &refusals {
            tracing::warn!(reason, "a core is left out");
        }
        if seats.chosen.is_empty() {
            return Err(if refusals.is_empty() { "no core is left".into() } else { refusals.join("; ") });
        }
        Ok(seats)
    }

    fn start<'s>(&self, seat: &'s Seat) -> &'s Result<Resident, String> {
        seat.resident.get_or_init(|| {
            let (system, machine, core, bound) =
                (Arc::clone(&self.system), self.machine.clone(), seat.core, self.bound);
            let tcm = if bound { self.tcm(core.kind) } else { None };
            let settle = move || {
                let isa = settle(&*system, &machine, &core, bound)?;
                Ok(Equipment { isa, tcm: tcm.map(|tcm| (tcm, core.cpu)) })
            };
            Resident::start(format!("spacemit-cpu{}", core.cpu), settle)
                .map_err(|error| format!("core {}: {error}", core.cpu))
        })
    }

    /// The scratchpads, which one kind of core of a chip has.
    fn tcm(&self, kind: CoreKind) -> Option<Arc<Tcm>> {
        self.tcm.get_or_init(|| (self.open_tcm)(kind).map(Arc::new)).clone()
    }
}

impl Drop for CorePool {
    fn drop(&mut self) {
        if let Some(Some(tcm)) = self.tcm.get() {
            let (used, busy) = tcm.counts();
            tracing::info!(used, busy, "runs of workers that had a scratchpad, and that found it in use");
        }
    }
}

/// Moves the calling thread to its core and measures what it can execute there.
fn settle(system: &dyn System, machine: &Machine, core: &Core, bound: bool) -> Result<Isa, String> {
    if core.kind == CoreKind::A100 {
        mark_for_ai(system)?;
    }
    let promised = if bound {
        bind(system, core.cpu)?;
        core.isa
    } else {
        let mask = system.affinity().map_err(|error| format!("the CPU mask cannot be read: {error}"))?;
        machine.common_isa(&mask)
    };
    let isa = measure(system, promised);
    if isa != promised {
        tracing::warn!(cpu = core.cpu, ?promised, measured = ?isa, "the core executes less than its ids promise");
    }
    tracing::info!(cpu = core.cpu, kind = ?core.kind, vlen = isa.vlen, ime1 = isa.ime1, ime2 = isa.ime2, "worker");
    Ok(isa)
}

fn mark_for_ai(system: &dyn System) -> Result<(), String> {
    match system.write(SET_AI_THREAD, &system.thread_id().to_string()) {
        // Kernels that let every thread on every core have no such file; the binding tells whether this is one.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        outcome => outcome.map_err(|error| format!("{SET_AI_THREAD} refuses the thread: {error}")),
    }
}

/// Binds the calling thread to one CPU.
fn bind(system: &dyn System, cpu: usize) -> Result<(), String> {
    let wanted = CpuSet::from_iter([cpu]);
    system.set_affinity(&wanted).map_err(|error| format!("the system binds no thread to it: {error}"))?;
    match system.affinity() {
        Ok(found) if found == wanted => Ok(()),
        Ok(found) => Err(format!("its thread was bound to CPUs {found} instead")),
        Err(error) => Err(format!("the binding cannot be read back: {error}")),
    }
}

impl Seats {
    fn take(&mut self, index: usize) {
        let seat = &self.pool.seats[index];
        seat.teams.fetch_add(1, Ordering::Relaxed);
        self.cpus.insert(seat.core.cpu);
        self.chosen.push(index);
    }

    pub fn pool(&self) -> &CorePool {
        &self.pool
    }

    pub fn len(&self) -> usize {
        self.chosen.len()
    }

    pub fn cpus(&self) -> &CpuSet {
        &self.cpus
    }

    /// The cores with their threads, by rank.
    pub fn iter(&self) -> impl Iterator<Item = (&Core, &Resident)> + Clone {
        self.chosen.iter().filter_map(|&index| {
            let seat = &self.pool.seats[index];
            Some((&seat.core, seat.resident.get()?.as_ref().ok()?))
        })
    }
}

impl Drop for Seats {
    fn drop(&mut self) {
        for &index in &self.chosen {
            self.pool.seats[index].teams.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
