//! Teams of worker threads that run one program together (single program, multiple data).

mod barrier;
mod team;
mod worker;

pub use barrier::Poisoned;
pub use team::{Team, TeamError};
pub use worker::Worker;
