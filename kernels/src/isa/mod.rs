//! What a plan is made for: core kinds, instruction sets and their geometry. Plain data; nothing here reads the machine.

mod target;

pub use target::{CoreKind, Engine, Target};
