//! SpacemiT's `libspine_tcm.so`, which keeps a table of owners in memory that all processes share.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;
use std::ptr::NonNull;

use libloading::{Library, Symbol};

use super::{Backend, BlockStatus, Memory};
use crate::isa::CoreKind;

const NAME: &str = "libspine_tcm.so";
/// The library counts waiting in steps of about 12 microseconds.
const WAIT_STEPS: usize = 1;

/// `spine_tcm_mem_info_t`
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct MemInfo {
    pub blk_size: usize,
    pub blk_num: usize,
    pub is_fake_tcm: c_int,
}

/// `spine_tcm_block_info_t`
#[repr(C)]
pub(super) struct BlockInfo {
    pub id: c_int,
    pub va: *mut c_void,
    pub size: usize,
    pub phys_addr: u64,
    pub cpu_affinity_mask: u64,
    pub owner_tid: c_int,
    pub is_acquired: c_int,
}

/// The functions that are used of the library (its header `spine_tcm.h`): the thin layer that tests replace.
pub(super) trait Spine: Send + Sync {
    /// `spine_tcm_runtime_layout_info`
    fn layout(&self) -> Option<MemInfo>;
    /// `spine_tcm_runtime_mem_try_wait`: takes a block for the calling thread, waiting a moment.
    fn try_wait(&self, block: usize) -> Option<NonNull<u8>>;
    /// `spine_tcm_runtime_mem_release`; false when the library refuses.
    fn release(&self, block: usize) -> bool;
    /// `spine_tcm_runtime_mem_force_release`: takes a block away from whoever has it.
    fn force_release(&self, block: usize) -> bool;
    /// `spine_tcm_runtime_mem_info`
    fn info(&self, block: usize) -> Option<BlockInfo>;
    /// Whether a thread of any process exists.
    fn is_alive(&self, thread: i32) -> bool;
}

/// What looking for the library gave.
pub(super) enum Found {
    Usable(Box<dyn Spine>),
    /// Not installed, so no program can use it.
    Absent,
    /// Installed, so that others may use it, and of no use to us.
    Unusable,
}

/// Loads the library from where the system keeps its libraries.
pub(super) fn open() -> Found {
    // SAFETY: the library's initialisers are those of a plain C library.
    let library = match unsafe { Library::new(NAME) } {
        Ok(library) => library,
        Err(_) if !is_installed() => return Found::Absent,
        Err(error) => {
            tracing::warn!(%error, "{NAME} cannot be loaded; scratchpads stay unused");
            return Found::Unusable;
        }
    };
    found(library)
}

fn found(library: Library) -> Found {
    match Loaded::new(library) {
        Ok(loaded) => Found::Usable(Box::new(loaded)),
        Err(error) => {
            tracing::warn!(%error, "{NAME} is of another version; scratchpads stay unused");
            Found::Unusable
        }
    }
}

/// Whether the file is in one of the system's usual places, so that a failure to load it is more than its absence.
fn is_installed() -> bool {
    ["/usr/lib", "/usr/lib/riscv64-linux-gnu", "/usr/local/lib", "/lib"]
        .iter()
        .any(|at| Path::new(at).join(NAME).exists())
}

/// The loaded library.
struct Loaded {
    layout_info: unsafe extern "C" fn(*mut MemInfo) -> c_int,
    mem_info: unsafe extern "C" fn(c_int, *mut BlockInfo) -> c_int,
    try_wait: unsafe extern "C" fn(c_int, usize) -> *mut c_void,
    release: unsafe extern "C" fn(c_int) -> c_int,
    force_release: unsafe extern "C" fn(c_int) -> c_int,
    /// Keeps the functions loaded.
    _library: Library,
}

impl Loaded {
    fn new(library: Library) -> Result<Self, libloading::Error> {
        /// # Safety
        /// `T` is the type of the function.
        unsafe fn function<T: Copy>(library: &Library, name: &str) -> Result<T, libloading::Error> {
            // SAFETY: by the contract.
            let symbol: Symbol<'_, T> = unsafe { library.get(format!("spine_tcm_runtime_{name}\0").as_bytes())? };
            Ok(*symbol)
        }
        // SAFETY: the types are those of the header `spine_tcm.h`.
        unsafe {
            let version: unsafe extern "C" fn() -> *const c_char = function(&library, "version")?;
            let version = version();
            if !version.is_null() {
                tracing::info!(version = ?CStr::from_ptr(version), "{NAME}");
            }
            Ok(Self {
                layout_info: function(&library, "layout_info")?,
                mem_info: function(&library, "mem_info")?,
                try_wait: function(&library, "mem_try_wait")?,
                release: function(&library, "mem_release")?,
                force_release: function(&library, "mem_force_release")?,
                _library: library,
            })
        }
    }
}

impl Spine for Loaded {
    fn layout(&self) -> Option<MemInfo> {
        let mut info = MemInfo::default();
        // SAFETY: the function fills in the struct.
        (unsafe { (self.layout_info)(&mut info) } == 0).then_some(info)
    }

    fn try_wait(&self, block: usize) -> Option<NonNull<u8>> {
        // SAFETY: takes numbers.
        NonNull::new(unsafe { (self.try_wait)(block as c_int, WAIT_STEPS) }.cast())
    }

    fn release(&self, block: usize) -> bool {
        // SAFETY: takes a number.
        unsafe { (self.release)(block as c_int) == 0 }
    }

    fn force_release(&self, block: usize) -> bool {
        // SAFETY: takes a number.
        unsafe { (self.force_release)(block as c_int) == 0 }
    }

    fn info(&self, block: usize) -> Option<BlockInfo> {
        // SAFETY: all-zero bytes are a valid struct.
        let mut info: BlockInfo = unsafe { std::mem::zeroed() };
        // SAFETY: the function fills in the struct.
        (unsafe { (self.mem_info)(block as c_int, &mut info) } == 0).then_some(info)
    }

    fn is_alive(&self, thread: i32) -> bool {
        // Threads have a folder of their own there, though a listing leaves it out.
        Path::new(&format!("/proc/{thread}")).exists()
    }
}

/// Blocks that the library gives out.
pub(super) struct Shared {
    spine: Box<dyn Spine>,
    info: MemInfo,
    /// Core of block 0: the library numbers blocks as the chip's matrix cores.
    first_core: usize,
}

/// K3's AI cores follow its eight application cores.
const FIRST_A100: usize = 8;

impl Shared {
    /// `None` when the library stands for no real memory.
    pub fn new(spine: Box<dyn Spine>, kind: CoreKind) -> Option<Self> {
        let info = spine.layout().filter(|info| info.is_fake_tcm == 0 && info.blk_size > 0 && info.blk_num > 0);
        let Some(info) = info else {
            tracing::info!("{NAME} has no scratchpads");
            return None;
        };
        let first_core = if kind == CoreKind::A100 { FIRST_A100 } else { 0 };
        Some(Self { spine, info, first_core })
    }
}

impl Backend for Shared {
    fn name(&self) -> &'static str {
        NAME
    }

    fn blocks(&self) -> usize {
        self.info.blk_num
    }

    fn block_of(&self, cpu: usize) -> Option<usize> {
        cpu.checked_sub(self.first_core).filter(|&block| block < self.info.blk_num)
    }

    fn acquire(&self, block: usize) -> Option<Memory> {
        let again = || if self.reclaim(block) { self.spine.try_wait(block) } else { None };
        let data = self.spine.try_wait(block).or_else(again)?;
        Some(Memory { data, bytes: self.info.blk_size })
    }

    fn release(&self, block: usize, _memory: Memory) {
        if !self.spine.release(block) {
            tracing::error!(block, "{NAME} does not take a scratchpad back");
        }
    }

    fn status(&self, block: usize) -> BlockStatus {
        let info = self.spine.info(block);
        BlockStatus {
            bytes: self.info.blk_size,
            phys: info.as_ref().map_or(0, |info| info.phys_addr),
            cpus: info.as_ref().map_or(0, |info| info.cpu_affinity_mask),
            busy: info.as_ref().map(|info| info.is_acquired != 0),
            owner: info.filter(|info| info.is_acquired != 0).map(|info| info.owner_tid),
        }
    }

    /// The library itself never notices that an owner died.
    fn reclaim(&self, block: usize) -> bool {
        let Some(owner) = self.status(block).owner.filter(|&thread| !self.spine.is_alive(thread)) else { return false };
        tracing::warn!(block, owner, "a scratchpad is taken back from a thread that is gone");
        self.spine.force_release(block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_of_another_version_stays_unused() {
        // SAFETY: a library of the system that has none of the functions.
        let library = unsafe { Library::new("libm.so.6") }.unwrap();
        assert!(matches!(found(library), Found::Unusable));
    }
}
