//! The only file that reads the machine.

use std::collections::BTreeSet;
use std::fs;

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
