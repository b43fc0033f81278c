//! Chips for tests, with the rules that their kernels are known to have and the faults that a test wants.

use std::cell::RefCell;
use std::io::{self, ErrorKind};

use super::{CpuSet, HwProbe, MatrixTrial, System};

/// One core of a [`FakeChip`].
#[derive(Clone, Debug)]
pub(crate) struct FakeCore {
    pub vendor: u64,
    pub arch: u64,
    pub extensions: u64,
    pub vlenb: usize,
    pub ime1: bool,
    pub ime2: bool,
    /// Only threads that `/proc/set_ai_thread` has marked may run on it.
    pub ai: bool,
}

/// What goes wrong.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {
    /// Every `riscv_hwprobe(2)` fails like this.
    pub hwprobe: Option<ErrorKind>,
    /// Extensions that the kernel's `riscv_hwprobe(2)` has no bit for.
    pub unknown_extensions: u64,
    /// Cores that are offline.
    pub offline: CpuSet,
    /// No child can be made for a trial.
    pub no_trial: bool,
    /// `/proc/set_ai_thread` fails like this: `InvalidInput` for threads that have used vectors.
    pub set_ai_thread: Option<ErrorKind>,
    /// The kernel refuses to bind threads to these, as a cpuset does.
    pub refused: CpuSet,
    /// The kernel accepts these but binds to other CPUs.
    pub ignored: CpuSet,
}

/// A chip and its Linux. Threads of the test are its threads.
#[derive(Clone, Debug, Default)]
pub(crate) struct FakeChip {
    pub cores: Vec<FakeCore>,
    pub faults: Faults,
    /// Mask that threads start with.
    pub mask: CpuSet,
}

#[derive(Clone, Debug, Default)]
struct Thread {
    ai: bool,
    mask: Option<CpuSet>,
}

thread_local!(static THREAD: RefCell<Thread> = RefCell::default());

impl FakeChip {
    /// The calling thread becomes a fresh one of the chip.
    fn of(cores: Vec<FakeCore>, mask: &str) -> Self {
        THREAD.set(Thread::default());
        Self { cores, faults: Faults::default(), mask: mask.parse().unwrap() }
    }

    /// Eight X60, of which the first four have the matrix instructions.
    pub fn k1() -> Self {
        let core = |cpu| FakeCore {
            vendor: 0x710,
            arch: 0x8000_0000_5800_0001,
            extensions: HwProbe::V | HwProbe::ZVFH,
            vlenb: 32,
            ime1: cpu < 4,
            ime2: false,
            ai: false,
        };
        Self::of((0..8).map(core).collect(), "0-7")
    }

    /// Eight X100 and eight A100, which unmarked threads cannot reach.
    pub fn k3() -> Self {
        let extensions = HwProbe::V | HwProbe::ZVFH;
        let x100 = FakeCore {
            vendor: 0x710,
            arch: 0x8000_0000_5800_0002,
            extensions,
            vlenb: 32,
            ime1: true,
            ime2: false,
            ai: false,
        };
        let a100 = FakeCore { arch: 0x8000_0000_4100_0002, vlenb: 128, ime2: true, ai: true, ..x100.clone() };
        Self::of([vec![x100; 8], vec![a100; 8]].concat(), "0-7")
    }

    /// Two cores of another vendor.
    pub fn of_vendor(vendor: u64, vlen: usize, zvfh: bool) -> Self {
        let vector = if vlen > 0 { HwProbe::V } else { 0 };
        let extensions = vector | if zvfh { HwProbe::ZVFH } else { 0 };
        let core = FakeCore { vendor, arch: 1, extensions, vlenb: vlen / 8, ime1: false, ime2: false, ai: false };
        Self::of(vec![core; 2], "0-1")
    }

    pub fn without_vectors() -> Self {
        Self::of_vendor(0x489, 0, false)
    }

    /// Four cores that are no RISC-V.
    pub fn pc() -> Self {
        let mut chip = Self::of_vendor(0, 0, false);
        chip.cores = [chip.cores.clone(), chip.cores].concat();
        chip.mask = "0-3".parse().unwrap();
        chip.faults.hwprobe = Some(ErrorKind::Unsupported);
        chip
    }

    /// Puts the calling thread on a core without asking.
    pub fn enter(&self, cpu: usize) {
        let ai = self.cores[cpu].ai;
        THREAD.set(Thread { ai, mask: Some(CpuSet::from_iter([cpu])) });
    }

    fn present(&self) -> CpuSet {
        (0..self.cores.len()).collect()
    }

    fn is_riscv(&self) -> bool {
        self.cores.iter().any(|core| core.arch != 0 && core.vendor != 0)
    }

    /// The core under the calling thread: the first of its mask.
    fn core(&self) -> &FakeCore {
        let cpu = self.affinity().unwrap().iter().next().unwrap();
        &self.cores[cpu]
    }

    fn cpuinfo(&self) -> String {
        let block = |(cpu, core): (usize, &FakeCore)| {
            let v = if core.extensions & HwProbe::V != 0 { "v" } else { "" };
            let zvfh = if core.extensions & HwProbe::ZVFH != 0 { "_zvfh" } else { "" };
            format!(
                "processor\t: {cpu}\nisa\t\t: rv64imafdc{v}_zicbom{zvfh}\nmvendorid\t: {:#x}\nmarchid\t\t: {:#x}\n\n",
                core.vendor, core.arch
            )
        };
        self.cores.iter().enumerate().filter(|(cpu, _)| !self.faults.offline.contains(*cpu)).map(block).collect()
    }

    /// K3: marks the calling thread, which must be the one that is named.
    fn set_ai_thread(&self, text: &str) -> io::Result<()> {
        if let Some(kind) = self.faults.set_ai_thread {
            return Err(kind.into());
        }
        if text != "0" && text != self.thread_id().to_string() {
            return Err(ErrorKind::InvalidInput.into());
        }
        THREAD.with_borrow_mut(|thread| thread.ai = true);
        Ok(())
    }
}

impl System for FakeChip {
    fn read(&self, path: &str) -> io::Result<String> {
        let of_cpu = || path.strip_prefix("/sys/devices/system/cpu/cpu")?.strip_suffix("/of_node/cpu-ai")?.parse().ok();
        match path {
            "/sys/devices/system/cpu/present" => Ok(format!("{}\n", self.present())),
            "/proc/cpuinfo" if self.is_riscv() => Ok(self.cpuinfo()),
            _ if of_cpu().is_some_and(|cpu: usize| self.cores[cpu].ai) => Ok("true\0".into()),
            _ => Err(ErrorKind::NotFound.into()),
        }
    }

    fn write(&self, path: &str, text: &str) -> io::Result<()> {
        match path {
            "/proc/set_ai_thread" if self.cores.iter().any(|core| core.ai) => self.set_ai_thread(text),
            _ => Err(ErrorKind::NotFound.into()),
        }
    }

    fn hwprobe(&self, cpu: usize) -> io::Result<HwProbe> {
        if let Some(kind) = self.faults.hwprobe {
            return Err(kind.into());
        }
        match self.cores.get(cpu) {
            Some(core) if !self.faults.offline.contains(cpu) => {
                let extensions = core.extensions & !self.faults.unknown_extensions;
                Ok(HwProbe { vendor: core.vendor, arch: core.arch, extensions, zero_block: 64 })
            }
            _ => Err(ErrorKind::InvalidInput.into()),
        }
    }

    fn thread_id(&self) -> i32 {
        super::Linux.thread_id()
    }

    fn affinity(&self) -> io::Result<CpuSet> {
        Ok(THREAD.with_borrow(|thread| thread.mask.unwrap_or(self.mask)))
    }

    /// `EINVAL` for masks without a CPU that this thread may use, as Linux answers.
    fn set_affinity(&self, cpus: &CpuSet) -> io::Result<()> {
        let marked = THREAD.with_borrow(|thread| thread.ai);
        let usable = |&cpu: &usize| self.cores[cpu].ai == marked && !self.faults.refused.contains(cpu);
        let online = self.present().minus(&self.faults.offline);
        let mut mask: CpuSet = cpus.and(&online).iter().filter(usable).collect();
        if mask.is_empty() {
            return Err(ErrorKind::InvalidInput.into());
        }
        if !mask.and(&self.faults.ignored).is_empty() {
            mask = online;
        }
        THREAD.with_borrow_mut(|thread| thread.mask = Some(mask));
        Ok(())
    }

    fn vlenb(&self) -> usize {
        self.core().vlenb
    }

    fn executes(&self, trial: MatrixTrial) -> io::Result<bool> {
        if self.faults.no_trial {
            return Err(ErrorKind::OutOfMemory.into());
        }
        Ok(match trial {
            MatrixTrial::Ime1 => self.core().ime1,
            MatrixTrial::Ime2 => self.core().ime2,
        })
    }
}
