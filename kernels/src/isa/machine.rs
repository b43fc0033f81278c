//! The cores of the machine, by their ids.

use std::sync::OnceLock;

use super::{CoreKind, Isa, Target, cpuinfo};
use crate::sys::{CpuSet, HwProbe, Linux, System};
use crate::ukr::lines;

/// `mvendorid` of SpacemiT.
pub(super) const SPACEMIT: u64 = 0x710;
/// `marchid` of K1's cores: all eight report X60, though the first four have the matrix instructions.
pub(super) const X60: u64 = 0x8000_0000_5800_0001;
/// The id that SpacemiT's tables give K1's first four cores.
pub(super) const A60: u64 = 0x8000_0000_4100_0001;
/// `marchid` of K3's application cores.
pub(super) const X100: u64 = 0x8000_0000_5800_0002;
/// `marchid` of K3's AI cores.
pub(super) const A100: u64 = 0x8000_0000_4100_0002;
/// K1's cores below this have the matrix instructions.
const A60_CORES: usize = 4;

const CPUS: &str = "/sys/devices/system/cpu";

/// One core of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Core {
    /// Linux's number of it.
    pub cpu: usize,
    pub kind: CoreKind,
    /// What it can execute, by its ids and extensions.
    pub isa: Isa,
}

/// The cores of a machine. They need not be alike.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    pub cores: Vec<Core>,
}

impl Machine {
    /// The machine that this process runs on.
    pub fn here() -> &'static Self {
        static HERE: OnceLock<Machine> = OnceLock::new();
        HERE.get_or_init(|| Self::detect(&Linux))
    }

    /// Reads the ids of every core that is present: from `riscv_hwprobe(2)` and `/proc/cpuinfo`, else (cores that are
    /// offline) from the device tree. Cores of which none of them tells count as the host's.
    pub fn detect(system: &dyn System) -> Self {
        let present = system.read(&format!("{CPUS}/present")).ok().and_then(|list| list.parse::<CpuSet>().ok());
        let present = present.unwrap_or_else(|| {
            let count = std::thread::available_parallelism().map_or(1, usize::from);
            (0..count).collect()
        });
        let cpuinfo = system.read("/proc/cpuinfo").unwrap_or_default();
        let core = |cpu| {
            let answer = match (system.hwprobe(cpu).ok(), cpuinfo::hwprobe(&cpuinfo, cpu)) {
                // Older kernels have no bit for an extension that their ISA string names.
                (Some(call), Some(text)) => Some(HwProbe { extensions: call.extensions | text.extensions, ..call }),
                (call, text) => call.or(text),
            };
            match answer.or_else(|| device_tree(system, cpu)) {
                Some(answer) => core(system, cpu, answer),
                None => Core { cpu, kind: CoreKind::Host, isa: Isa::SCALAR },
            }
        };
        Self { cores: present.iter().map(core).collect() }
    }

    /// Plans for the best kind of core that there is; `None` on a machine that is no RISC-V.
    pub fn target(&self) -> Option<Target> {
        let kind = self.cores.iter().map(|core| core.kind).filter(|&kind| kind != CoreKind::Host).max_by_key(rank)?;
        Some(Target::of(kind).with_workers(self.cores_of(kind).count()))
    }

    /// The cores of this kind.
    pub fn cores_of(&self, kind: CoreKind) -> impl Iterator<Item = &Core> {
        self.cores.iter().filter(move |core| core.kind == kind)
    }

    /// What every one of these CPUs can execute; nothing when one of them is unknown.
    pub fn common_isa(&self, cpus: &CpuSet) -> Isa {
        let isa = |cpu| self.cores.iter().find(|core| core.cpu == cpu).map_or(Isa::SCALAR, |core| core.isa);
        cpus.iter().map(isa).reduce(Isa::and).unwrap_or(Isa::SCALAR)
    }
}

/// Kinds in the order of their worth for the compute-bound operators.
fn rank(kind: &CoreKind) -> u8 {
    match kind {
        CoreKind::Host => 0,
        CoreKind::Scalar => 1,
        CoreKind::Rvv { .. } => 2,
        CoreKind::X60 => 3,
        CoreKind::X100 => 4,
        CoreKind::A60 => 5,
        CoreKind::A100 => 6,
    }
}

fn core(system: &dyn System, cpu: usize, answer: HwProbe) -> Core {
    let f16 = answer.extensions & HwProbe::ZVFH != 0;
    let kind = match (answer.vendor, answer.arch) {
        _ if answer.extensions & HwProbe::V == 0 => CoreKind::Scalar,
        (SPACEMIT, X60 | A60) if cpu < A60_CORES => CoreKind::A60,
        (SPACEMIT, X60 | A60) => CoreKind::X60,
        (SPACEMIT, X100) => CoreKind::X100,
        (SPACEMIT, A100) => CoreKind::A100,
        // A plan is made before any worker is bound to the core, so this thread's length has to serve; a worker that
        // finds another one runs the scalar twins.
        _ => match system.vlenb() * 8 {
            0 => CoreKind::Scalar,
            vlen => CoreKind::Rvv { vlen, f16 },
        },
    };
    // Only the call tells whether programs may use the instruction, and on how many bytes.
    let zeroes_lines = answer.extensions & HwProbe::ZICBOZ != 0 && answer.zero_block == lines::LINE as u64;
    Core { cpu, kind, isa: Isa { f16, zeroes_lines, ..kind.isa() } }
}

/// K3's AI cores may be offline until the first thread asks for one. Its device tree marks them.
fn device_tree(system: &dyn System, cpu: usize) -> Option<HwProbe> {
    let mark = system.read(&format!("{CPUS}/cpu{cpu}/of_node/cpu-ai")).ok()?;
    let extensions = HwProbe::V | HwProbe::ZVFH;
    (mark.trim_end_matches('\0') == "true").then_some(HwProbe {
        vendor: SPACEMIT,
        arch: A100,
        extensions,
        zero_block: 0,
    })
}

#[cfg(test)]
mod tests;
