//! The operating system as far as cores and their threads need it: one trait, Linux behind it, a fake chip in tests.

mod cpu_set;
#[cfg(test)]
pub(crate) mod fake;
mod linux;
mod trial;

use std::io;

pub use cpu_set::CpuSet;
pub use linux::Linux;
pub use trial::{MatrixTrial, executes};

/// What the kernel is asked. Every implementation fails in the same ways: an error is what the system call or the file
/// says, never a guess.
pub trait System: Send + Sync {
    /// Contents of a file of procfs or sysfs, by its absolute path.
    fn read(&self, path: &str) -> io::Result<String>;

    /// Writes a file of procfs.
    fn write(&self, path: &str, text: &str) -> io::Result<()>;

    /// What `riscv_hwprobe(2)` says of one CPU. Fails with `Unsupported` where there is no such call (Linux before 6.4,
    /// other processors), and with `InvalidInput` for a CPU that is offline.
    fn hwprobe(&self, cpu: usize) -> io::Result<HwProbe>;

    /// Kernel id of the calling thread.
    fn thread_id(&self) -> i32;

    /// CPUs that the calling thread may run on.
    fn affinity(&self) -> io::Result<CpuSet>;

    /// Binds the calling thread to `cpus`.
    fn set_affinity(&self, cpus: &CpuSet) -> io::Result<()>;

    /// Bytes of a vector register of the calling thread; 0 where the processor has no V extension. A chip's cores
    /// differ, so an answer holds for threads bound to cores of one kind only.
    fn vlenb(&self) -> usize;

    /// Whether the core under the calling thread executes a matrix instruction.
    ///
    /// # Errors
    /// The trial could not be made.
    fn executes(&self, trial: MatrixTrial) -> io::Result<bool>;
}

/// Answers of `riscv_hwprobe(2)`, `Documentation/arch/riscv/hwprobe.rst` of Linux; 0 for what the kernel does not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HwProbe {
    /// `RISCV_HWPROBE_KEY_MVENDORID`
    pub vendor: u64,
    /// `RISCV_HWPROBE_KEY_MARCHID`
    pub arch: u64,
    /// `RISCV_HWPROBE_KEY_IMA_EXT_0`
    pub extensions: u64,
    /// `RISCV_HWPROBE_KEY_ZICBOZ_BLOCK_SIZE`
    pub zero_block: u64,
}

impl HwProbe {
    /// `RISCV_HWPROBE_IMA_V`
    pub const V: u64 = 1 << 2;
    /// `RISCV_HWPROBE_EXT_ZICBOZ`
    pub const ZICBOZ: u64 = 1 << 6;
    /// `RISCV_HWPROBE_EXT_ZVFH`
    pub const ZVFH: u64 = 1 << 30;
}
