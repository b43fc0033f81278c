//! The device file `/dev/tcm`: the thin layer that tests replace.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;

const PATH: &str = "/dev/tcm";

/// Answer of `TCM_INFO_GET`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    pub base: usize,
    pub block_size: usize,
    pub block_num: usize,
}

/// Question and answer of `TCM_BLOCK_INFO_GET`; the caller fills in `block_id`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockInfo {
    pub block_id: u32,
    pub reserved: u32,
    pub phys: u64,
    pub size: u64,
    /// Cores that reach the block fast; 0 where the device tree names none.
    pub cpu_affinity_mask: u64,
}

/// What SpacemiT's drivers offer (`drivers/misc/tcm.c` of the vendor's Linux), and the locks that any file has.
pub(crate) trait Device: Send + Sync {
    /// `TCM_INFO_GET`. `ENOTTY` or `EINVAL` from K1's older driver.
    fn layout(&self) -> io::Result<Layout>;

    /// `TCM_BLOCK_INFO_GET`. `EINVAL` for a block that does not exist.
    fn block(&self, id: u32) -> io::Result<BlockInfo>;

    /// Maps shared memory. The direct driver counts `offset` over all blocks, and `EINVAL` means that the range leaves
    /// them; the older driver allocates at offset 0, and `ENOMEM` means that too little is free.
    fn map(&self, offset: usize, bytes: usize) -> io::Result<NonNull<u8>>;

    /// # Safety
    /// `data` and `bytes` are of one [`Device::map`], and nobody uses them any more.
    unsafe fn unmap(&self, data: NonNull<u8>, bytes: usize);

    /// Locks a range of the file for this opening of it, without waiting; false while another one has it. The kernel
    /// unlocks when the process ends in any way.
    fn lock(&self, offset: usize, bytes: usize) -> io::Result<bool>;

    fn unlock(&self, offset: usize, bytes: usize);

    /// Whether another opening has a lock in the range.
    fn is_locked(&self, offset: usize, bytes: usize) -> io::Result<bool>;
}

/// Opens the device; `None` where there is none, or where the system refuses, which the log tells.
pub(super) fn open() -> Option<Box<dyn Device>> {
    opened(OpenOptions::new().read(true).write(true).open(PATH))
}

fn opened(file: io::Result<File>) -> Option<Box<dyn Device>> {
    match file {
        Ok(file) => {
            // Programs that take all of the memory hold an exclusive lock on the file.
            // SAFETY: a live descriptor.
            if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_SH | libc::LOCK_NB) } != 0 {
                tracing::warn!("{PATH} is locked by another program; scratchpads stay unused");
                return None;
            }
            Some(Box::new(DeviceFile(file)))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => {
            tracing::warn!(%error, "{PATH} cannot be opened; scratchpads stay unused");
            None
        }
    }
}

struct DeviceFile(File);

impl DeviceFile {
    /// # Safety
    /// `argument` is what the request reads and writes.
    unsafe fn ioctl<T>(&self, request: u32, argument: &mut T) -> io::Result<()> {
        // SAFETY: by the contract.
        match unsafe { libc::ioctl(self.0.as_raw_fd(), request as _, std::ptr::from_mut(argument)) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    /// Sets a lock of this kind on a range, or asks for the first lock that would be in its way; returns the kind that
    /// the kernel leaves in the range.
    fn range_lock(&self, command: i32, kind: i32, offset: usize, bytes: usize) -> io::Result<i32> {
        // SAFETY: all-zero bytes are a valid `flock`.
        let mut range: libc::flock = unsafe { std::mem::zeroed() };
        range.l_type = kind as _;
        range.l_whence = libc::SEEK_SET as _;
        range.l_start = offset as _;
        range.l_len = bytes as _;
        // SAFETY: a live descriptor, and a range for the length of the call.
        match unsafe { libc::fcntl(self.0.as_raw_fd(), command, &mut range) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(i32::from(range.l_type)),
        }
    }
}

impl Device for DeviceFile {
    fn layout(&self) -> io::Result<Layout> {
        /// `_IOR('c', 7, int)`, though the answer is larger.
        const TCM_INFO_GET: u32 = 0x8004_6307;
        let mut layout = Layout::default();
        // SAFETY: the driver fills in a `tcm_info_t`, which `Layout` is.
        unsafe { self.ioctl(TCM_INFO_GET, &mut layout) }.map(|()| layout)
    }

    fn block(&self, id: u32) -> io::Result<BlockInfo> {
        /// `_IOWR('c', 9, int)`, though both are larger.
        const TCM_BLOCK_INFO_GET: u32 = 0xc004_6309;
        let mut info = BlockInfo { block_id: id, ..BlockInfo::default() };
        // SAFETY: the driver reads and fills in a `tcm_block_info_t`, which `BlockInfo` is.
        unsafe { self.ioctl(TCM_BLOCK_INFO_GET, &mut info) }.map(|()| info)
    }

    fn map(&self, offset: usize, bytes: usize) -> io::Result<NonNull<u8>> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let file = self.0.as_raw_fd();
        // SAFETY: a new mapping, which touches nothing that exists.
        let data = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, libc::MAP_SHARED, file, offset as _) };
        if data == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        NonNull::new(data.cast()).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    unsafe fn unmap(&self, data: NonNull<u8>, bytes: usize) {
        // SAFETY: by the contract.
        unsafe { libc::munmap(data.as_ptr().cast(), bytes) };
    }

    fn lock(&self, offset: usize, bytes: usize) -> io::Result<bool> {
        match self.range_lock(libc::F_OFD_SETLK, libc::F_WRLCK, offset, bytes) {
            Ok(_) => Ok(true),
            Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn unlock(&self, offset: usize, bytes: usize) {
        if let Err(error) = self.range_lock(libc::F_OFD_SETLK, libc::F_UNLCK, offset, bytes) {
            tracing::error!(%error, "a scratchpad stays locked until the process ends");
        }
    }

    fn is_locked(&self, offset: usize, bytes: usize) -> io::Result<bool> {
        self.range_lock(libc::F_OFD_GETLK, libc::F_WRLCK, offset, bytes).map(|kind| kind != libc::F_UNLCK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_locked_against_other_openings_until_these_close() {
        let path = std::env::temp_dir().join(format!("spacemit-tcm-{}", std::process::id()));
        std::fs::write(&path, [0; 64]).unwrap();
        let open = || DeviceFile(OpenOptions::new().read(true).write(true).open(&path).unwrap());
        let (a, b) = (open(), open());
        assert!(a.lock(0, 16).unwrap() && b.lock(16, 16).unwrap());
        assert!(!b.lock(0, 16).unwrap() && b.is_locked(0, 16).unwrap());
        assert!(!a.is_locked(0, 16).unwrap(), "its own lock is in nobody's way");
        a.unlock(0, 16);
        assert!(b.lock(0, 16).unwrap());
        drop(b);
        assert!(a.lock(0, 32).unwrap());
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_device_that_is_missing_forbidden_or_taken_stays_unused() {
        for kind in [io::ErrorKind::NotFound, io::ErrorKind::PermissionDenied] {
            assert!(opened(Err(kind.into())).is_none());
        }
        let path = std::env::temp_dir().join(format!("spacemit-tcm-taken-{}", std::process::id()));
        std::fs::write(&path, [0; 64]).unwrap();
        let open = || OpenOptions::new().read(true).write(true).open(&path);
        let other = open().unwrap();
        // SAFETY: a live descriptor.
        assert_eq!(unsafe { libc::flock(other.as_raw_fd(), libc::LOCK_EX) }, 0);
        assert!(opened(open()).is_none());
        drop(other);
        assert!(opened(open()).is_some());
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_file_that_is_no_tcm_says_so() {
        let null = DeviceFile(OpenOptions::new().read(true).write(true).open("/dev/null").unwrap());
        assert_eq!(null.layout().unwrap_err().raw_os_error(), Some(libc::ENOTTY));
        assert_eq!(null.block(0).unwrap_err().raw_os_error(), Some(libc::ENOTTY));
    }
}
