//! What the core under a thread really executes.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use super::{Isa, Machine};
use crate::sys::{Linux, MatrixTrial, System};

/// What the core under the calling thread executes of what its ids promise: its own vector length, and matrix
/// instructions only after one was tried. The thread must stay on cores of one kind meanwhile.
pub(crate) fn measure(system: &dyn System, promised: Isa) -> Isa {
    if promised.vlen == 0 {
        return Isa::SCALAR;
    }
    let vlen = system.vlenb() * 8;
    let executes = |trial| {
        let outcome = system.executes(trial);
        outcome.unwrap_or_else(|error| {
            tracing::warn!(%error, "matrix instructions cannot be tried and stay unused");
            false
        })
    };
    let same = vlen == promised.vlen;
    let ime1 = promised.ime1 && same && executes(MatrixTrial::Ime1);
    let ime2 = promised.ime2 && same && executes(MatrixTrial::Ime2);
    promised.and(Isa { vlen, ime1, ime2, ..promised })
}

/// What every core executes that the calling thread may be moved to. Matrix instructions are tried once in a process
/// for cores of the same promises, since the thread is bound to none of them.
pub fn isa_of_this_thread() -> Isa {
    static MEASURED: Mutex<Vec<(Isa, Isa)>> = Mutex::new(Vec::new());
    if cfg!(not(target_arch = "riscv64")) {
        return Isa::SCALAR;
    }
    let Ok(cpus) = Linux.affinity() else { return Isa::SCALAR };
    let promised = Machine::here().common_isa(&cpus);
    let mut measured = MEASURED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, isa)) = measured.iter().find(|(known, _)| *known == promised) {
        return *isa;
    }
    let isa = measure(&Linux, promised);
    measured.push((promised, isa));
    isa
}

/// Number of physical cores that this process may use; at least one.
///
/// Hardware threads of one core share their sysfs `core_cpus_list`. Where sysfs does not tell, every logical CPU
/// counts as a core.
pub fn physical_cores() -> usize {
    let logical = std::thread::available_parallelism().map_or(1, usize::from);
    let list = |cpu| Linux.read(&format!("/sys/devices/system/cpu/cpu{cpu}/topology/core_cpus_list")).ok();
    let cores: BTreeSet<String> = (0..).map_while(list).collect();
    if cores.is_empty() { logical } else { cores.len().min(logical) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::CoreKind;
    use crate::sys::fake::FakeChip;

    #[test]
    fn promises_are_checked_on_the_core() {
        let (k1, k3) = (CoreKind::A60.isa(), CoreKind::A100.isa());
        let chip = FakeChip::k1();
        chip.enter(0);
        assert_eq!(measure(&chip, k1), k1);
        assert_eq!(measure(&chip, k3), Isa::SCALAR, "another vector length");
        chip.enter(5);
        assert_eq!(measure(&chip, k1), CoreKind::X60.isa(), "cpu4-7 trap on matrix instructions");
        assert_eq!(measure(&FakeChip::without_vectors(), k1), Isa::SCALAR);
    }

    #[test]
    fn an_impossible_trial_counts_as_no_matrix_instructions() {
        let mut chip = FakeChip::k3();
        chip.faults.no_trial = true;
        chip.enter(8);
        assert_eq!(measure(&chip, CoreKind::A100.isa()), Isa { ime2: false, ..CoreKind::A100.isa() });
    }
}
