use super::device::Device;
use super::{Backend, BlockStatus, Memory};

/// K1's older driver, which allocates: whoever maps memory has it, and the kernel takes it back at the end of a process.
pub(super) struct Allocating {
    device: Box<dyn Device>,
}

/// K1 has four blocks of 128 KiB, one for each of its matrix cores, and every one of these reaches all of them.
const BLOCKS: usize = 4;
const BLOCK_BYTES: usize = 128 << 10;

impl Allocating {
    pub fn new(device: Box<dyn Device>) -> Self {
        Self { device }
    }
}

impl Backend for Allocating {
    fn name(&self) -> &'static str {
        "allocating device"
    }

    fn blocks(&self) -> usize {
        BLOCKS
    }

    fn block_of(&self, cpu: usize) -> Option<usize> {
        (cpu < BLOCKS).then_some(cpu)
    }

    fn acquire(&self, _block: usize) -> Option<Memory> {
        let data = self.device.map(0, BLOCK_BYTES).ok()?;
        Some(Memory { data, bytes: BLOCK_BYTES })
    }

    fn release(&self, _block: usize, memory: Memory) {
        // SAFETY: `acquire` mapped it, and the loan that used it is gone.
        unsafe { self.device.unmap(memory.data, memory.bytes) };
    }

    fn status(&self, block: usize) -> BlockStatus {
        BlockStatus { bytes: BLOCK_BYTES, phys: 0, cpus: 1 << block, busy: None, owner: None }
    }
}
