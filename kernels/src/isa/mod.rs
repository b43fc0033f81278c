//! What a plan is made for: core kinds, instruction sets and their geometry.

mod probe;
mod target;
mod tile;

pub use probe::physical_cores;
pub use target::{CoreKind, Engine, Target};
pub use tile::{BlockShape, TileShape};
