//! A TCM device and a library for tests, with the faults that a test wants.

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::device::{BlockInfo, Device, Layout};
use super::library::{self, MemInfo, Spine};
use super::{Tcm, on_device};
use crate::isa::CoreKind;

/// Bytes of a block of the fakes.
pub(crate) const BLOCK: usize = 4096;

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line {
    _bytes: [u8; 64],
}

/// Memory of the fakes, shared by all that open them.
pub(crate) struct Chip {
    memory: NonNull<u8>,
    boxed: *mut [Line],
    pub mapped: AtomicUsize,
    /// For each block who has it: 0 nobody, else a thread or opening.
    pub owners: Mutex<Vec<i32>>,
}

// SAFETY: the memory lives as long as this value, and the locks under test keep its users apart.
unsafe impl Send for Chip {}
// SAFETY: as above.
unsafe impl Sync for Chip {}

impl Chip {
    pub fn new(blocks: usize) -> Arc<Self> {
        let boxed = Box::into_raw(vec![Line { _bytes: [0; 64] }; blocks * BLOCK / 64].into_boxed_slice());
        let memory = NonNull::new(boxed.cast::<u8>()).unwrap();
        let (mapped, owners) = (AtomicUsize::new(0), Mutex::new(vec![0; blocks]));
        Arc::new(Self { memory, boxed, mapped, owners })
    }

    fn blocks(&self) -> usize {
        self.owners.lock().unwrap().len()
    }

    fn at(&self, block: usize) -> NonNull<u8> {
        // SAFETY: the tests ask for blocks that exist.
        unsafe { self.memory.add(block * BLOCK) }
    }
}

impl Drop for Chip {
    fn drop(&mut self) {
        // SAFETY: from `Box::into_raw` in `new`.
        drop(unsafe { Box::from_raw(self.boxed) });
    }
}

/// One opening of the device.
#[derive(Clone)]
pub(crate) struct FakeDevice {
    pub chip: Arc<Chip>,
    /// Name of this opening; not 0.
    pub opening: i32,
    /// Error number that the layout's question ends in.
    pub layout_error: Option<i32>,
    pub map_error: Option<i32>,
    pub lock_error: Option<i32>,
    /// Cores near each block.
    pub masks: Vec<u64>,
    /// What the driver says of a block's size.
    pub block_size: u64,
}

impl FakeDevice {
    pub fn new(chip: &Arc<Chip>, opening: i32) -> Self {
        let masks = vec![0; chip.blocks()];
        let block_size = BLOCK as u64;
        Self { chip: chip.clone(), opening, layout_error: None, map_error: None, lock_error: None, masks, block_size }
    }
}

/// K3's blocks: two for each pair of AI cores.
pub(crate) const K3_MASKS: [u64; 8] = [0x300, 0x300, 0xc00, 0xc00, 0x3000, 0x3000, 0xc000, 0xc000];

/// K3's scratchpads behind a driver that does all it should.
pub(crate) fn k3_tcm(_kind: CoreKind) -> Option<Tcm> {
    of_device(FakeDevice { masks: K3_MASKS.to_vec(), ..FakeDevice::new(&Chip::new(8), 1) })
}

/// The scratchpads behind a driver.
pub(crate) fn of_device(device: FakeDevice) -> Option<Tcm> {
    on_device(Box::new(device)).map(Tcm::new)
}

/// K3's scratchpads behind the library.
pub(crate) fn of_library(chip: &Arc<Chip>, is_fake: bool) -> Option<Tcm> {
    let spine = Box::new(FakeSpine { chip: Arc::clone(chip), is_fake });
    library::Shared::new(spine, CoreKind::A100).map(|shared| Tcm::new(Box::new(shared)))
}

fn fail_with(error: Option<i32>) -> io::Result<()> {
    error.map_or(Ok(()), |number| Err(io::Error::from_raw_os_error(number)))
}

impl Device for FakeDevice {
    fn layout(&self) -> io::Result<Layout> {
        fail_with(self.layout_error)?;
        Ok(Layout { base: 0, block_size: BLOCK, block_num: self.chip.blocks() })
    }

    fn block(&self, id: u32) -> io::Result<BlockInfo> {
        match self.masks.get(id as usize) {
            Some(&cpu_affinity_mask) => {
                Ok(BlockInfo { block_id: id, size: self.block_size, cpu_affinity_mask, ..BlockInfo::default() })
            }
            None => Err(io::Error::from_raw_os_error(libc::EINVAL)),
        }
    }

    fn map(&self, offset: usize, bytes: usize) -> io::Result<NonNull<u8>> {
        fail_with(self.map_error)?;
        if offset + bytes > self.chip.blocks() * BLOCK {
            return Err(io::Error::from_raw_os_error(libc::ENOMEM));
        }
        self.chip.mapped.fetch_add(1, Ordering::SeqCst);
        Ok(self.chip.at(offset / BLOCK))
    }

    unsafe fn unmap(&self, _data: NonNull<u8>, _bytes: usize) {
        self.chip.mapped.fetch_sub(1, Ordering::SeqCst);
    }

    fn lock(&self, offset: usize, _bytes: usize) -> io::Result<bool> {
        fail_with(self.lock_error)?;
        let owner = &mut self.chip.owners.lock().unwrap()[offset / BLOCK];
        let free = *owner == 0 || *owner == self.opening;
        if free {
            *owner = self.opening;
        }
        Ok(free)
    }

    fn unlock(&self, offset: usize, _bytes: usize) {
        self.chip.owners.lock().unwrap()[offset / BLOCK] = 0;
    }

    fn is_locked(&self, offset: usize, _bytes: usize) -> io::Result<bool> {
        let owner = self.chip.owners.lock().unwrap()[offset / BLOCK];
        Ok(owner != 0 && owner != self.opening)
    }
}

/// The library. Threads from 1000 on are dead.
pub(crate) struct FakeSpine {
    pub chip: Arc<Chip>,
    pub is_fake: bool,
}

impl Spine for FakeSpine {
    fn layout(&self) -> Option<MemInfo> {
        Some(MemInfo { blk_size: BLOCK, blk_num: self.chip.blocks(), is_fake_tcm: i32::from(self.is_fake) })
    }

    fn try_wait(&self, block: usize) -> Option<NonNull<u8>> {
        let owner = &mut self.chip.owners.lock().unwrap()[block];
        if *owner != 0 {
            return None;
        }
        *owner = 1;
        Some(self.chip.at(block))
    }

    fn release(&self, block: usize) -> bool {
        let owner = &mut self.chip.owners.lock().unwrap()[block];
        let ours = *owner == 1;
        if ours {
            *owner = 0;
        }
        ours
    }

    fn force_release(&self, block: usize) -> bool {
        self.chip.owners.lock().unwrap()[block] = 0;
        true
    }

    fn info(&self, block: usize) -> Option<library::BlockInfo> {
        let owner_tid = self.chip.owners.lock().unwrap()[block];
        Some(library::BlockInfo {
            id: block as i32,
            va: std::ptr::null_mut(),
            size: BLOCK,
            phys_addr: 0x1000,
            cpu_affinity_mask: 0x300,
            owner_tid,
            is_acquired: i32::from(owner_tid != 0),
        })
    }

    fn is_alive(&self, thread: i32) -> bool {
        thread < 1000
    }
}
