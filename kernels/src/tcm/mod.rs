//! Tightly coupled memory: the scratchpads of a chip's matrix cores.
//!
//! Nothing depends on it but time: a worker that gets no block computes the same from ordinary memory. A block is held
//! for one run at most. Other processes use the blocks too, so every backend takes them in a way that all of its
//! users see:
//!
//! - [`library`]: SpacemiT's `libspine_tcm.so` where it is installed, because programs built on it (spine-runtime, ggml)
//!   know no other way.
//! - [`direct`]: the driver that maps blocks by their number and leaves ownership to its users: locks on the device
//!   file, which the kernel drops when their holder dies.
//! - [`allocating`]: K1's older driver, which hands out memory by `mmap` and takes it back when the process ends.

mod allocating;
mod device;
mod direct;
#[cfg(test)]
pub(crate) mod fake;
mod library;

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::isa::CoreKind;

/// Bytes of a block that belong to the caller until they are given back.
pub(crate) struct Memory {
    data: NonNull<u8>,
    bytes: usize,
}

/// Scratch memory has this alignment.
#[repr(align(64))]
struct Aligned;

/// One way to get blocks.
trait Backend: Send + Sync {
    fn name(&self) -> &'static str;

    /// Number of blocks.
    fn blocks(&self) -> usize;

    /// The block nearest to a core, if it has one.
    fn block_of(&self, cpu: usize) -> Option<usize>;

    /// Takes a block for the calling thread; `None` while another process has it. Not called again for the block
    /// before [`Backend::release`].
    fn acquire(&self, block: usize) -> Option<Memory>;

    /// Gives back what [`Backend::acquire`] handed out on the same thread.
    fn release(&self, block: usize, memory: Memory);

    /// What is known of a block without taking it.
    fn status(&self, block: usize) -> BlockStatus;

    /// Takes a block back from a thread that is gone; false when there was none, or the kernel sees to it.
    fn reclaim(&self, _block: usize) -> bool {
        false
    }
}

/// What is known of one block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockStatus {
    pub bytes: usize,
    /// Physical address; 0 where it is not told.
    pub phys: u64,
    /// Bit mask of the cores near it; 0 where it is not told.
    pub cpus: u64,
    /// `None` where the backend does not tell.
    pub busy: Option<bool>,
    /// Kernel id of the thread that has it, where that is told.
    pub owner: Option<i32>,
}

/// The blocks of the chip, for the workers of this process.
pub struct Tcm {
    backend: Box<dyn Backend>,
    taken: Vec<AtomicBool>,
    used: AtomicU64,
    busy: AtomicU64,
}

impl Tcm {
    /// The scratchpads of cores of this kind; `None` where there are none, or where they cannot be shared safely, which
    /// the log tells.
    pub fn open(kind: CoreKind) -> Option<Self> {
        if !matches!(kind, CoreKind::A60 | CoreKind::A100) {
            return None;
        }
        let backend = match library::open() {
            library::Found::Usable(spine) => {
                library::Shared::new(spine, kind).map(|shared| Box::new(shared) as Box<dyn Backend>)
            }
            library::Found::Absent => device::open().and_then(on_device),
            library::Found::Unusable => None,
        }?;
        tracing::info!(backend = backend.name(), blocks = backend.blocks(), "scratchpads");
        Some(Self::new(backend))
    }

    fn new(backend: Box<dyn Backend>) -> Self {
        let taken = (0..backend.blocks()).map(|_| AtomicBool::new(false)).collect();
        Self { backend, taken, used: AtomicU64::new(0), busy: AtomicU64::new(0) }
    }

    /// Name of the kernel interface behind it.
    pub fn backend(&self) -> &'static str {
        self.backend.name()
    }

    /// What is known of every block, by number.
    pub fn status(&self) -> Vec<BlockStatus> {
        (0..self.taken.len()).map(|block| self.backend.status(block)).collect()
    }

    /// Takes blocks back from threads that are gone, and returns their numbers.
    pub fn reclaim(&self) -> Vec<usize> {
        (0..self.taken.len()).filter(|&block| self.backend.reclaim(block)).collect()
    }

    /// Number of the block nearest to a core.
    pub(crate) fn block_of(&self, cpu: usize) -> Option<usize> {
        self.backend.block_of(cpu)
    }

    /// The block of a core for the calling thread, if it has at least `bytes` and nobody else uses it.
    pub(crate) fn lend(&self, cpu: usize, bytes: usize) -> Option<Loan<'_>> {
        let block = self.block_of(cpu)?;
        if self.taken.get(block)?.swap(true, Ordering::Acquire) {
            self.busy.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        let Some(memory) = self.backend.acquire(block) else {
            self.taken[block].store(false, Ordering::Release);
            self.busy.fetch_add(1, Ordering::Relaxed);
            return None;
        };
        let loan = Loan { tcm: self, block, memory: Some(memory) };
        if loan.len() < bytes || !loan.as_ptr().cast::<Aligned>().is_aligned() {
            return None;
        }
        self.used.fetch_add(1, Ordering::Relaxed);
        Some(loan)
    }

    /// How many runs of a worker had a block, and how many went without because it was in use.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.used.load(Ordering::Relaxed), self.busy.load(Ordering::Relaxed))
    }
}

/// The backend for the driver behind the device file.
fn on_device(device: Box<dyn device::Device>) -> Option<Box<dyn Backend>> {
    match direct::Direct::new(device) {
        Ok(direct) => Some(Box::new(direct)),
        Err(direct::Unfit::OtherDriver(device)) => Some(Box::new(allocating::Allocating::new(device))),
        Err(direct::Unfit::Broken(reason)) => {
            tracing::warn!(reason, "scratchpads stay unused");
            None
        }
    }
}

/// A block in the hands of one worker, given back on drop.
pub(crate) struct Loan<'t> {
    tcm: &'t Tcm,
    block: usize,
    memory: Option<Memory>,
}

impl Deref for Loan<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        let Some(memory) = &self.memory else { return &[] };
        // SAFETY: the backend maps so many bytes until `release`, and `taken` keeps the block to this loan.
        unsafe { std::slice::from_raw_parts(memory.data.as_ptr(), memory.bytes) }
    }
}

impl DerefMut for Loan<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        let Some(memory) = &self.memory else { return &mut [] };
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(memory.data.as_ptr(), memory.bytes) }
    }
}

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        if let Some(memory) = self.memory.take() {
            self.tcm.backend.release(self.block, memory);
        }
        self.tcm.taken[self.block].store(false, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
