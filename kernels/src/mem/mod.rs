//! Memory that a run touches: aligned owned bytes and the arena of intermediate results.

mod aligned;
mod heap;
mod pages;
mod scratch;
mod workspace;

pub use aligned::AlignedBuf;
pub use heap::trim_heap;
pub use pages::MemoryBackend;
pub(crate) use scratch::Scratch;
pub use workspace::{OutOfMemory, Workspace, WorkspaceReq};

/// Alignment of every buffer and every offset inside an arena: one cache line of the X60, the A100 and x86-64.
pub const ALIGNMENT: usize = 64;
