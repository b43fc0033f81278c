//! Which cores a team gets: a pure choice among those of the machine.

use super::grants::Lease;
use super::spin::Spin;
use crate::isa::{Core, CoreKind, Machine, Target};
use crate::sys::CpuSet;

/// What is asked of the cores of a team.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    pub cores: Cores,
    /// Cores that are taken before others.
    pub preferred: Vec<usize>,
    pub lease: Lease,
    pub spin: Spin,
    pub tcm: TcmUse,
}

/// How much of a scratchpad workers may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TcmUse {
    /// What the chip has.
    #[default]
    Auto,
    Off,
    /// Runs that need at most so many bytes of it.
    AtMost(usize),
}

impl TcmUse {
    pub(super) fn limit(self) -> usize {
        match self {
            TcmUse::Auto => usize::MAX,
            TcmUse::Off => 0,
            TcmUse::AtMost(bytes) => bytes,
        }
    }
}

/// The cores that workers are bound to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Cores {
    /// A chip's matrix cores; on other machines none, and the thread that runs a session works too.
    #[default]
    Any,
    /// Workers keep the CPU mask that they inherit.
    Inherit,
    /// These, in this order.
    These(Vec<usize>),
}

/// The cores that may serve, best first.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Candidates {
    pub cores: Vec<Core>,
    /// Cores of the kind that the process's CPU mask excludes.
    pub masked: CpuSet,
}

impl Placement {
    /// The candidates for a team of `target` in a process whose threads may run on `mask`; `None` when the target has
    /// no cores of its own here, so that ordinary threads serve.
    ///
    /// # Errors
    /// A core that is asked for does not exist, or is of another kind.
    pub(super) fn candidates(
        &self,
        machine: &Machine,
        target: &Target,
        mask: &CpuSet,
    ) -> Result<Option<Candidates>, String> {
        self.check(machine, target)?;
        if let Cores::These(cpus) = &self.cores {
            let cores = cpus.iter().filter_map(|&cpu| find(machine, cpu)).collect();
            return Ok(Some(Candidates { cores, masked: CpuSet::default() }));
        }
        let mut cores: Vec<Core> = machine.cores_of(target.core).copied().collect();
        if cores.is_empty() || !has_own_cores(target.core) {
            return Ok(None);
        }
        let all: CpuSet = cores.iter().map(|core| core.cpu).collect();
        let allowed = allowed(target.core, &all, mask);
        cores.retain(|core| allowed.contains(core.cpu));
        let preference = |core: &Core| self.preferred.iter().position(|&cpu| cpu == core.cpu).unwrap_or(usize::MAX);
        cores.sort_by_key(|core| (preference(core), spread(core), core.cpu));
        Ok(Some(Candidates { cores, masked: all.minus(&allowed) }))
    }

    /// Whether the cores that are asked for exist and fit the target.
    ///
    /// # Errors
    /// Names the first that does not.
    pub fn check(&self, machine: &Machine, target: &Target) -> Result<(), String> {
        let listed = if let Cores::These(cpus) = &self.cores { cpus.as_slice() } else { &[] };
        for (index, &cpu) in listed.iter().enumerate() {
            if listed[..index].contains(&cpu) {
                return Err(format!("core {cpu} is listed twice"));
            }
        }
        for &cpu in listed.iter().chain(&self.preferred) {
            let all: CpuSet = machine.cores.iter().map(|core| core.cpu).collect();
            let core = find(machine, cpu).ok_or_else(|| format!("there is no core {cpu}; the cores are {all}"))?;
            if core.kind != target.core && core.kind != CoreKind::Host {
                return Err(format!(
                    "core {cpu} is {:?}, and target {} needs {:?}",
                    core.kind,
                    target.name(),
                    target.core
                ));
            }
        }
        Ok(())
    }
}

/// Chips have cores for matrices beside those of the application; elsewhere a thread is as good as another.
fn has_own_cores(kind: CoreKind) -> bool {
    matches!(kind, CoreKind::X60 | CoreKind::A60 | CoreKind::X100 | CoreKind::A100)
}

fn find(machine: &Machine, cpu: usize) -> Option<Core> {
    machine.cores.iter().find(|core| core.cpu == cpu).copied()
}

/// The mask restricts, but K3 keeps its AI cores out of every mask until a thread is marked: a mask without any of
/// them says nothing about them.
fn allowed(kind: CoreKind, cores: &CpuSet, mask: &CpuSet) -> CpuSet {
    let both = cores.and(mask);
    if both.is_empty() && kind == CoreKind::A100 { *cores } else { both }
}

/// The two cores of a pair on K3 share a matrix unit, so that the first of every pair come before the second.
fn spread(core: &Core) -> usize {
    if core.kind == CoreKind::A100 { core.cpu % 2 } else { 0 }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::sys::fake::FakeChip;

    fn place(chip: &FakeChip, target: Target, placement: &Placement, mask: &str) -> Vec<usize> {
        let machine = Machine::detect(chip);
        let candidates = placement.candidates(&machine, &target, &mask.parse().unwrap()).unwrap();
        candidates.map_or_else(Vec::new, |found| found.cores.iter().map(|core| core.cpu).collect())
    }

    #[test]
    fn pairs_of_k3_are_spread() {
        let (chip, any) = (FakeChip::k3(), Placement::default());
        assert_eq!(place(&chip, Target::k3(), &any, "0-7"), [8, 10, 12, 14, 9, 11, 13, 15]);
        let preferred = Placement { preferred: vec![13, 12], ..any };
        assert_eq!(place(&chip, Target::k3(), &preferred, "0-7")[..4], [13, 12, 8, 10]);
    }

    #[test]
    fn masks_restrict() {
        let any = Placement::default();
        assert_eq!(place(&FakeChip::k1(), Target::k1(), &any, "0-7"), [0, 1, 2, 3]);
        assert_eq!(place(&FakeChip::k1(), Target::k1(), &any, "2-7"), [2, 3]);
        assert!(place(&FakeChip::k1(), Target::k1(), &any, "4-7").is_empty());
        assert_eq!(place(&FakeChip::k3(), Target::k3(), &any, "8-11"), [8, 10, 9, 11], "started as an AI process");
        let found = any.candidates(&Machine::detect(&FakeChip::k1()), &Target::k1(), &"2-7".parse().unwrap());
        assert_eq!(found.unwrap().unwrap().masked.to_string(), "0-1");
    }

    #[test]
    fn listed_cores_keep_their_order_and_must_fit() {
        let these = |cpus: &[usize]| Placement { cores: Cores::These(cpus.to_vec()), ..Placement::default() };
        assert_eq!(place(&FakeChip::k3(), Target::k3(), &these(&[11, 9]), "0-7"), [11, 9]);
        assert_eq!(place(&FakeChip::pc(), Target::host(2), &these(&[3, 1]), "0-3"), [3, 1]);
        assert_eq!(place(&FakeChip::pc(), Target::k3(), &these(&[1]), "0-3"), [1], "a plan for K3 runs on a PC's core");
        let machine = Machine::detect(&FakeChip::k3());
        for (cpus, named) in [(&[16][..], "core 16"), (&[8, 0], "core 0"), (&[9, 9], "twice")] {
            let error = these(cpus).check(&machine, &Target::k3()).unwrap_err();
            assert!(error.contains(named), "{error}");
        }
    }

    #[test]
    fn ordinary_machines_have_no_cores_of_their_own() {
        let any = Placement::default();
        assert!(place(&FakeChip::pc(), Target::host(4), &any, "0-3").is_empty());
        assert!(place(&FakeChip::pc(), Target::k3(), &any, "0-3").is_empty());
        let rvv = Machine::detect(&FakeChip::of_vendor(0x5b7, 128, true)).target().unwrap();
        assert!(place(&FakeChip::of_vendor(0x5b7, 128, true), rvv, &any, "0-1").is_empty());
    }
}
