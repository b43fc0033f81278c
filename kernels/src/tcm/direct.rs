use std::ptr::NonNull;

use super::device::Device;
use super::{Backend, BlockStatus, Memory};

/// Blocks of the driver that maps them by number, as K3 has it: all of them are mapped once, and locks on the device
/// file say whose they are.
pub(super) struct Direct {
    device: Box<dyn Device>,
    data: NonNull<u8>,
    block_bytes: usize,
    /// Cores near each block.
    cpus: Vec<u64>,
}

// SAFETY: the mapping belongs to this value, and `Tcm` hands each block to one thread at a time.
unsafe impl Send for Direct {}
// SAFETY: as above.
unsafe impl Sync for Direct {}

/// Why a device is none of this kind.
pub(super) enum Unfit {
    /// It does not know the questions; here it is back.
    OtherDriver(Box<dyn Device>),
    /// It knows them and cannot be used.
    Broken(String),
}

/// More blocks than any chip has.
const MAX_BLOCKS: usize = 64;

impl Direct {
    pub fn new(device: Box<dyn Device>) -> Result<Self, Unfit> {
        let layout = match device.layout() {
            Ok(layout) => layout,
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOTTY | libc::EINVAL)) => {
                return Err(Unfit::OtherDriver(device));
            }
            Err(error) => return Err(Unfit::Broken(format!("the driver does not tell its layout: {error}"))),
        };
        let (count, block_bytes) = (layout.block_num, layout.block_size);
        if count == 0 || count > MAX_BLOCKS || block_bytes == 0 || block_bytes > isize::MAX as usize / MAX_BLOCKS {
            return Err(Unfit::Broken(format!("the driver tells of {count} blocks of {block_bytes} bytes")));
        }
        let mut cpus = Vec::with_capacity(count);
        for id in 0..count {
            match device.block(id as u32) {
                Ok(block) if block.size == block_bytes as u64 => cpus.push(block.cpu_affinity_mask),
                Ok(block) => {
                    return Err(Unfit::Broken(format!("block {id} has {} bytes, not {block_bytes}", block.size)));
                }
                Err(error) => return Err(Unfit::Broken(format!("block {id} cannot be asked for: {error}"))),
            }
        }
        match device.map(0, count * block_bytes) {
            Ok(data) => Ok(Self { device, data, block_bytes, cpus }),
            Err(error) => Err(Unfit::Broken(format!("the blocks cannot be mapped: {error}"))),
        }
    }
}

impl Backend for Direct {
    fn name(&self) -> &'static str {
        "device"
    }

    fn blocks(&self) -> usize {
        self.cpus.len()
    }

    /// Cores that share some blocks take them in turn: the first core the first block. Without masks block `i` is that
    /// of core `i`.
    fn block_of(&self, cpu: usize) -> Option<usize> {
        let bit = 1u64.checked_shl(u32::try_from(cpu).ok()?)?;
        let near: Vec<usize> = (0..self.blocks()).filter(|&block| self.cpus[block] & bit != 0).collect();
        if near.is_empty() {
            return (self.cpus.iter().all(|&mask| mask == 0) && cpu < self.blocks()).then_some(cpu);
        }
        let rank = (self.cpus[near[0]] & (bit - 1)).count_ones() as usize;
        near.get(rank).copied()
    }

    fn acquire(&self, block: usize) -> Option<Memory> {
        let offset = block * self.block_bytes;
        match self.device.lock(offset, self.block_bytes) {
            Ok(true) => {
                // SAFETY: `new` mapped all blocks, and `block` is one of them.
                Some(Memory { data: unsafe { self.data.add(offset) }, bytes: self.block_bytes })
            }
            Ok(false) => None,
            Err(error) => {
                tracing::warn!(%error, block, "a scratchpad cannot be locked");
                None
            }
        }
    }

    fn release(&self, block: usize, _memory: Memory) {
        self.device.unlock(block * self.block_bytes, self.block_bytes);
    }

    /// The kernel does not tell whose a lock is.
    fn status(&self, block: usize) -> BlockStatus {
        BlockStatus {
            bytes: self.block_bytes,
            phys: self.device.block(block as u32).map_or(0, |info| info.phys),
            cpus: self.cpus[block],
            busy: self.device.is_locked(block * self.block_bytes, self.block_bytes).ok(),
            owner: None,
        }
    }
}

impl Drop for Direct {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`; loans borrow this value, so none is left.
        unsafe { self.device.unmap(self.data, self.blocks() * self.block_bytes) };
    }
}
