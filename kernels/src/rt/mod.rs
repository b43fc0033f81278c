//! Teams of worker threads that run one program together (single program, multiple data).

mod barrier;
mod equipment;
#[cfg(all(test, not(loom)))]
pub(crate) mod fake;
#[cfg(all(test, not(loom)))]
mod faults;
mod grants;
mod mailbox;
#[cfg(all(test, loom))]
mod model;
mod placement;
mod pool;
mod resident;
mod run;
mod spin;
mod sync;
mod team;
mod worker;

pub use barrier::Poisoned;
pub use grants::Lease;
pub use placement::{Cores, Placement, TcmUse};
pub use spin::Spin;
pub use team::{RankCore, Team, TeamError};
pub use worker::Worker;
