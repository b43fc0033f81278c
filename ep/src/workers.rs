use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use kernels::isa::Machine;
use kernels::rt::{Placement, Team};

use crate::report::Report;
use crate::target::target;
use crate::{Error, Options, Target};

/// The workers of one session. Dynamic options put another team in the place of the one there is; runs that have begun
/// end on the team that they began on.
///
/// Programs stay as they were planned whatever team runs them, so that results do not change.
pub(crate) struct Workers {
    /// What the session's programs are planned for.
    target: Target,
    report: Arc<Report>,
    now: Mutex<Now>,
}

struct Now {
    options: Options,
    /// Started when the first group is compiled.
    team: Option<Arc<Team>>,
}

impl Workers {
    pub fn new(options: Options, target: Target, report: Arc<Report>) -> Self {
        Self { target, report, now: Mutex::new(Now { options, team: None }) }
    }

    /// The team that the next run takes.
    ///
    /// # Errors
    /// [`Error::System`] when it does not start, [`Error::Option`] when the report cannot be written.
    pub fn team(&self) -> Result<Arc<Team>, Error> {
        let mut now = self.now();
        if let Some(team) = &now.team {
            return Ok(Arc::clone(team));
        }
        let team = self.start(&now.options, &self.target)?;
        Ok(Arc::clone(now.team.insert(team)))
    }

    /// Changes options for the runs that begin from now on; all of them or, on an error, none.
    ///
    /// # Errors
    /// [`Error::Option`] for an option that cannot change or be met, and as [`Workers::team`].
    pub fn change<'a>(&self, pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<(), Error> {
        let mut now = self.now();
        let options = now.options.changed(pairs)?;
        if options == now.options {
            return Ok(());
        }
        let target = target(&options, Machine::here())?;
        if target.core != self.target.core {
            let reason =
                format!("the session is planned for {:?}, these cores are {:?}", self.target.core, target.core);
            return Err(Error::Option { key: "cores".into(), reason });
        }
        let before = match now.team {
            Some(_) => now.team.replace(self.start(&options, &target)?),
            None => None,
        };
        now.options = options;
        drop(now);
        // Its threads may have to be joined, which no run should wait for.
        drop(before);
        Ok(())
    }

    fn start(&self, options: &Options, target: &Target) -> Result<Arc<Team>, Error> {
        let team =
            if options.share_threads { shared(target, &options.placement) } else { own(target, &options.placement) }?;
        if let Some(path) = options.report.as_deref() {
            self.report.write_team(path, target, &team)?;
        }
        Ok(team)
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn own(target: &Target, placement: &Placement) -> Result<Arc<Team>, Error> {
    Team::of(target, placement).map(Arc::new).map_err(|error| Error::System(error.to_string()))
}

/// The team of the sessions of this process that share theirs and ask for the same. It ends with the last of them.
fn shared(target: &Target, placement: &Placement) -> Result<Arc<Team>, Error> {
    type Known = Vec<(Target, Placement, Weak<Team>)>;
    static TEAMS: Mutex<Known> = Mutex::new(Vec::new());
    let mut teams = TEAMS.lock().unwrap_or_else(PoisonError::into_inner);
    teams.retain(|(.., team)| team.strong_count() > 0);
    let same = teams.iter().find(|known| known.0 == *target && known.1 == *placement);
    if let Some(team) = same.and_then(|(.., team)| team.upgrade()) {
        return Ok(team);
    }
    let team = own(target, placement)?;
    teams.push((*target, placement.clone(), Arc::downgrade(&team)));
    Ok(team)
}
