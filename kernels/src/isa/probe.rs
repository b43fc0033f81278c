//! The only file that reads the machine.

use std::collections::BTreeSet;
use std::fs;

use super::Isa;

/// Number of physical cores that this process may use; at least one.
///
/// Hardware threads of one core share their sysfs `core_cpus_list`. Where sysfs does not tell, every logical CPU
/// counts as a core.
pub fn physical_cores() -> usize {
    let logical = std::thread::available_parallelism().map_or(1, usize::from);
    let cores: BTreeSet<String> = (0..)
        .map_while(|cpu| fs::read_to_string(format!("/sys/devices/system/cpu/cpu{cpu}/topology/core_cpus_list")).ok())
        .collect();
    if cores.is_empty() { logical } else { cores.len().min(logical) }
}

/// What the core under the calling thread can execute.
#[cfg(not(target_arch = "riscv64"))]
pub fn isa_of_this_thread() -> Isa {
    Isa::SCALAR
}

/// What the core under the calling thread can execute.
#[cfg(target_arch = "riscv64")]
pub fn isa_of_this_thread() -> Isa {
    unsafe extern "C" {
        fn getauxval(kind: u64) -> u64;
    }
    const AT_HWCAP: u64 = 16;
    const V: u64 = 1 << (b'v' - b'a');
    // SAFETY: reads the process's auxiliary vector.
    if unsafe { getauxval(AT_HWCAP) } & V == 0 {
        return Isa::SCALAR;
    }
    let bytes: usize;
    // SAFETY: the kernel says that this core has the V extension, and reading `vlenb` changes nothing.
    unsafe {
        std::arch::asm!(".option push", ".option arch, +v", "csrr {}, vlenb", ".option pop", out(reg) bytes, options(nomem, nostack));
    }
    Isa { vlen: bytes * 8, f16: true, ..Isa::SCALAR }
}
