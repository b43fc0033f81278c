use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};

/// Where the pages of large buffers come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryBackend {
    /// The system's ordinary pages.
    #[default]
    Posix,
    /// Transparent huge pages, where the system has them.
    HugePage,
    /// Pages of the system's pool of huge ones (`vm.nr_hugepages`); transparent ones when it has too few.
    HugeTlb,
}

thread_local! {
    static CURRENT: Cell<MemoryBackend> = const { Cell::new(MemoryBackend::Posix) };
}

impl MemoryBackend {
    /// Buffers that `make` makes on this thread get their pages from here.
    pub fn serve<T>(self, make: impl FnOnce() -> T) -> T {
        /// Puts the earlier backend back, also when `make` panics.
        struct Restore(MemoryBackend);
        impl Drop for Restore {
            fn drop(&mut self) {
                CURRENT.set(self.0);
            }
        }
        let _restore = Restore(CURRENT.replace(self));
        make()
    }

    pub(super) fn current() -> Self {
        CURRENT.get()
    }
}

/// Pages of a mapping of its own, zeroed. The system provides each when it is first written, near the core that does.
pub(super) struct Pages {
    data: NonNull<u8>,
    /// Bytes of the mapping.
    bytes: usize,
}

/// A huge page of x86-64, AArch64 and RV64 with base pages of 4 KiB.
const HUGE: usize = 2 << 20;

impl Pages {
    /// At least `len` bytes, which are not 0; `None` when the system does not have them.
    pub fn map(len: usize, backend: MemoryBackend) -> Option<Self> {
        if backend == MemoryBackend::Posix || len < HUGE {
            return Self::anonymous(len, 0);
        }
        let bytes = len.checked_next_multiple_of(HUGE)?;
        if backend == MemoryBackend::HugeTlb {
            if let Some(pages) = Self::anonymous(bytes, libc::MAP_HUGETLB | libc::MAP_HUGE_2MB) {
                return Some(pages);
            }
            warn_once(&HUGETLB, "the pool of huge pages (vm.nr_hugepages) is too small; transparent ones serve");
        }
        let pages = Self::anonymous(bytes.checked_add(HUGE)?, 0)?.aligned(bytes);
        // SAFETY: the range is this mapping; the advice changes no contents.
        if unsafe { libc::madvise(pages.data.as_ptr().cast(), pages.bytes, libc::MADV_HUGEPAGE) } != 0 {
            warn_once(&TRANSPARENT, "the system has no transparent huge pages; ordinary ones serve");
        }
        Some(pages)
    }

    fn anonymous(bytes: usize, flags: i32) -> Option<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | flags;
        // SAFETY: a new mapping, which touches nothing that exists.
        let data = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, flags, -1, 0) };
        if data == libc::MAP_FAILED {
            return None;
        }
        Some(Self { data: NonNull::new(data.cast())?, bytes })
    }

    /// Gives back all but `bytes` from the first huge page on; the mapping is one huge page longer than that.
    fn aligned(self, bytes: usize) -> Self {
        let before = self.data.as_ptr().align_offset(HUGE);
        // SAFETY: `before` is less than a huge page, so the parts are within the mapping; they are whole pages, disjoint,
        // and only the middle one is kept.
        unsafe {
            let data = self.data.add(before);
            unmap(self.data, before);
            unmap(data.add(bytes), self.bytes - before - bytes);
            std::mem::forget(self);
            Self { data, bytes }
        }
    }

    pub fn data(&self) -> NonNull<u8> {
        self.data
    }

    /// Takes the right to write away for good.
    pub fn protect(&self) {
        // SAFETY: the range is this mapping, to which nobody has a mutable reference by the caller's exclusive access.
        if unsafe { libc::mprotect(self.data.as_ptr().cast(), self.bytes, libc::PROT_READ) } != 0 {
            tracing::debug!(error = %std::io::Error::last_os_error(), "weights stay writable");
        }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the mapping belongs to this value.
        unsafe { unmap(self.data, self.bytes) };
    }
}

/// # Safety
/// The range is whole pages of a mapping that nobody uses any more, or empty.
unsafe fn unmap(data: NonNull<u8>, bytes: usize) {
    if bytes > 0 {
        // SAFETY: by the contract.
        unsafe { libc::munmap(data.as_ptr().cast(), bytes) };
    }
}

static HUGETLB: AtomicBool = AtomicBool::new(false);
static TRANSPARENT: AtomicBool = AtomicBool::new(false);

/// Says it once in a process, for it holds for every buffer that follows.
fn warn_once(said: &AtomicBool, message: &str) {
    if !said.swap(true, Ordering::Relaxed) {
        tracing::warn!("{message}");
    }
}
