use std::{fs, io};

use super::{CpuSet, HwProbe, MatrixTrial, System, trial};

/// The Linux that the process runs on.
pub struct Linux;

impl System for Linux {
    fn read(&self, path: &str) -> io::Result<String> {
        // Strings of the device tree may hold any byte.
        fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    fn write(&self, path: &str, text: &str) -> io::Result<()> {
        io::Write::write_all(&mut fs::OpenOptions::new().write(true).open(path)?, text.as_bytes())
    }

    fn hwprobe(&self, cpu: usize) -> io::Result<HwProbe> {
        hwprobe(cpu)
    }

    fn thread_id(&self) -> i32 {
        // SAFETY: asks for a number.
        unsafe { libc::gettid() }
    }

    fn affinity(&self) -> io::Result<CpuSet> {
        let mut cpus = CpuSet::default();
        let words = cpus.as_words_mut();
        // SAFETY: the kernel writes at most the bytes of `words`, which are laid out as a `cpu_set_t`.
        check(unsafe { libc::sched_getaffinity(0, size_of_val(words), words.as_mut_ptr().cast()) })?;
        Ok(cpus)
    }

    fn set_affinity(&self, cpus: &CpuSet) -> io::Result<()> {
        let words = cpus.as_words();
        // SAFETY: as above; the kernel reads.
        check(unsafe { libc::sched_setaffinity(0, size_of_val(words), words.as_ptr().cast()) })
    }

    fn vlenb(&self) -> usize {
        vlenb()
    }

    fn executes(&self, trial: MatrixTrial) -> io::Result<bool> {
        trial::executes(trial)
    }
}

fn check(result: i32) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(not(target_arch = "riscv64"))]
fn hwprobe(_cpu: usize) -> io::Result<HwProbe> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(target_arch = "riscv64")]
fn hwprobe(cpu: usize) -> io::Result<HwProbe> {
    /// Number of the call in `include/uapi/asm-generic/unistd.h` as riscv uses it.
    const SYS_RISCV_HWPROBE: i64 = 258;
    const KEYS: [i64; 4] = [0, 1, 4, 6];
    #[repr(C)]
    struct Pair {
        key: i64,
        value: u64,
    }
    let mut pairs = KEYS.map(|key| Pair { key, value: 0 });
    let cpus = CpuSet::from_iter([cpu]);
    let words = cpus.as_words();
    // SAFETY: the kernel reads the keys and the CPUs and writes the pairs, all of the sizes given.
    let result = unsafe {
        libc::syscall(SYS_RISCV_HWPROBE, pairs.as_mut_ptr(), pairs.len(), size_of_val(words), words.as_ptr(), 0usize)
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    // The kernel puts -1 in the place of a key that it does not know.
    let value = |index: usize| if pairs[index].key == KEYS[index] { pairs[index].value } else { 0 };
    Ok(HwProbe { vendor: value(0), arch: value(1), extensions: value(2), zero_block: value(3) })
}

#[cfg(not(target_arch = "riscv64"))]
fn vlenb() -> usize {
    0
}

#[cfg(target_arch = "riscv64")]
fn vlenb() -> usize {
    const V: u64 = 1 << (b'v' - b'a');
    // SAFETY: reads the process's auxiliary vector.
    if unsafe { libc::getauxval(libc::AT_HWCAP) } & V == 0 {
        return 0;
    }
    let bytes;
    // SAFETY: the kernel says that user programs may use the V extension; reading `vlenb` changes nothing.
    unsafe {
        std::arch::asm!(
            ".option push", ".option arch, +v", "csrr {}, vlenb", ".option pop",
            out(reg) bytes, options(nomem, nostack)
        );
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_bound_and_the_mask_read_back() {
        std::thread::spawn(|| {
            let before = Linux.affinity().unwrap();
            let cpu = before.iter().next().unwrap();
            let one = CpuSet::from_iter([cpu]);
            Linux.set_affinity(&one).unwrap();
            assert_eq!(Linux.affinity().unwrap(), one);
            assert!(Linux.set_affinity(&CpuSet::default()).is_err(), "no CPU at all");
            assert_eq!(Linux.affinity().unwrap(), one);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn files_are_read_and_missing_ones_say_so() {
        assert!(Linux.read("/proc/cpuinfo").unwrap().contains("processor"));
        assert_eq!(Linux.read("/proc/none").unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(Linux.write("/proc/none", "0").unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
