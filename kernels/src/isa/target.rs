use super::Isa;

/// Kind of core. All workers of one team are of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CoreKind {
    /// K1 cpu4-7: RVV 1.0, VLEN 256.
    X60,
    /// K1 cpu0-3: X60 with IME1.
    A60,
    /// K3 cpu0-7: out of order, RVV 1.0, VLEN 256.
    X100,
    /// K3 cpu8-15: RVV 1.0, VLEN 1024, IME2, TCM.
    A100,
    /// A RISC-V core of another make with RVV 1.0.
    Rvv {
        /// Bits of a vector register.
        vlen: usize,
        /// Zvfh: vectors of f16.
        f16: bool,
    },
    /// A RISC-V core without the V extension.
    Scalar,
    /// The development machine, served by the host engine.
    Host,
}

impl CoreKind {
    /// What plans for this kind may rely on; nothing on the host, whose engine hides it.
    pub const fn isa(self) -> Isa {
        let vectors = Isa { vlen: 256, f16: true, ..Isa::SCALAR };
        match self {
            CoreKind::X60 | CoreKind::X100 => vectors,
            CoreKind::A60 => Isa { ime1: true, ..vectors },
            CoreKind::A100 => Isa { vlen: 1024, ime2: true, ..vectors },
            CoreKind::Rvv { vlen, f16 } => Isa { vlen, f16, ..Isa::SCALAR },
            CoreKind::Scalar | CoreKind::Host => Isa::SCALAR,
        }
    }
}

/// Which family of implementations a kernel variant belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Engine {
    /// Plain loops over a packed layout; runs anywhere.
    Scalar,
    /// RISC-V vectors.
    Rvv,
    /// IME1 matrix instructions: `smt.vmadot`, 4x4x8 on int8 at VLEN 256.
    Ime1,
    /// IME2 matrix instructions: 8x8x16 on int8 at VLEN 1024.
    Ime2,
    /// `rten-gemm` and `rten-vecmath`.
    Host,
}

/// What a plan is made for. A value, never a probe: a plan for a K3 can be made on any machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    pub core: CoreKind,
    /// Ranks that run each program.
    pub workers: usize,
    /// Scratchpad bytes of one worker; 0 where there is none.
    pub tcm_bytes: usize,
}

impl Target {
    /// The development machine with `workers` threads.
    pub const fn host(workers: usize) -> Self {
        Self { core: CoreKind::Host, workers, tcm_bytes: 0 }
    }

    /// SpacemiT K1: four A60 cores with 128 KiB of TCM each.
    pub const fn k1() -> Self {
        Self { core: CoreKind::A60, workers: 4, tcm_bytes: 128 << 10 }
    }

    /// SpacemiT K3: eight A100 cores with 384 KiB of TCM each.
    pub const fn k3() -> Self {
        Self { core: CoreKind::A100, workers: 8, tcm_bytes: 384 << 10 }
    }

    /// The application cores of K3.
    pub const fn x100() -> Self {
        Self { core: CoreKind::X100, workers: 8, tcm_bytes: 0 }
    }

    /// A RISC-V machine with vector registers of `vlen` bits, Zvfh included.
    pub const fn rvv(vlen: usize) -> Self {
        Self::of(CoreKind::Rvv { vlen, f16: true })
    }

    /// A RISC-V machine without vectors: every kernel is the scalar twin.
    pub const fn scalar() -> Self {
        Self::of(CoreKind::Scalar)
    }

    /// All cores of a kind on its chip; one where the kind tells of no chip.
    pub const fn of(core: CoreKind) -> Self {
        match core {
            CoreKind::A60 => Self::k1(),
            CoreKind::A100 => Self::k3(),
            CoreKind::X100 => Self::x100(),
            CoreKind::X60 => Self { core, workers: 4, tcm_bytes: 0 },
            CoreKind::Rvv { .. } | CoreKind::Scalar | CoreKind::Host => Self { core, workers: 1, tcm_bytes: 0 },
        }
    }

    /// The same chip with another number of workers.
    pub const fn with_workers(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    /// Short name, as the option `target` spells it.
    pub const fn name(&self) -> &'static str {
        match self.core {
            CoreKind::X60 | CoreKind::A60 => "k1",
            CoreKind::X100 => "x100",
            CoreKind::A100 => "k3",
            CoreKind::Rvv { .. } => "rvv",
            CoreKind::Scalar => "scalar",
            CoreKind::Host => "host",
        }
    }
}
