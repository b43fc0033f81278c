//! What a plan is made for: core kinds, instruction sets and their geometry; and which of them this machine has.

mod cpuinfo;
mod extensions;
mod machine;
mod probe;
mod target;
mod tile;

pub use extensions::{Isa, Needs};
pub use machine::{Core, Machine};
pub(crate) use probe::measure;
pub use probe::{isa_of_this_thread, physical_cores};
pub use target::{CoreKind, Engine, Target};
pub use tile::{BlockShape, TileShape};
