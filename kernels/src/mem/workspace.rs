use super::{ALIGNMENT, AlignedBuf, MemoryBackend};

/// How much memory a run needs: one shared area for intermediate tensors and one scratch area for each rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkspaceReq {
    /// Bytes of the area that all ranks share.
    pub shared: usize,
    /// Bytes of scratch that each rank has for itself, within one step.
    pub per_rank: usize,
}

impl WorkspaceReq {
    /// What two steps that run one after the other need.
    pub fn or(self, other: Self) -> Self {
        Self { shared: self.shared.max(other.shared), per_rank: self.per_rank.max(other.per_rank) }
    }

    /// Bytes of the arena for `ranks` workers.
    pub fn bytes(self, ranks: usize) -> usize {
        align_up(self.shared) + ranks * align_up(self.per_rank)
    }
}

/// Rounds `bytes` up to a multiple of [`ALIGNMENT`].
pub(crate) fn align_up(bytes: usize) -> usize {
    bytes.next_multiple_of(ALIGNMENT)
}

/// The system does not have this much memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    pub bytes: usize,
}

impl std::fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes of memory are not to be had", self.bytes)
    }
}

impl std::error::Error for OutOfMemory {}

/// The arena of one run. It grows to the largest requirement it has met and is reused from then on. Its pages are provided
/// when a worker first writes them.
#[derive(Debug)]
pub struct Workspace {
    arena: AlignedBuf,
    backend: MemoryBackend,
}

impl Workspace {
    pub fn new() -> Self {
        Self::of(MemoryBackend::default())
    }

    /// An arena whose pages come from `backend`.
    pub fn of(backend: MemoryBackend) -> Self {
        Self { arena: AlignedBuf::zeroed(0), backend }
    }

    /// Makes room for `req` with `ranks` workers; allocates only when the arena is too small.
    ///
    /// # Errors
    /// [`OutOfMemory`]; the arena stays as it was.
    pub fn reserve(&mut self, req: WorkspaceReq, ranks: usize) -> Result<(), OutOfMemory> {
        let bytes = req.bytes(ranks);
        if self.arena.len() < bytes {
            self.arena = self.backend.serve(|| AlignedBuf::try_zeroed(bytes))?;
        }
        Ok(())
    }

    pub(crate) fn as_mut_ptr(&mut self) -> *mut u8 {
        self.arena.as_mut_ptr()
    }

    pub(crate) fn len(&self) -> usize {
        self.arena.len()
    }
}

impl Default for Workspace {
    fn default() -> Self {
        Self::new()
    }
}
