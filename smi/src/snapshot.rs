use kernels::isa::{Core, CoreKind, Machine};
use kernels::tcm::{BlockStatus, Tcm};
use serde_json::{Value, json};

use crate::host::Host;

/// What there is to tell at one moment.
pub struct Snapshot {
    /// Name of the chip; `None` without SpacemiT hardware.
    pub chip: Option<&'static str>,
    pub cores: Vec<Core>,
    /// CPU, process and program of each worker thread.
    pub workers: Vec<(usize, u32, String)>,
    /// Interface of the scratchpads, and their blocks.
    pub scratchpads: Option<(&'static str, Vec<BlockStatus>)>,
}

impl Snapshot {
    pub fn take(host: &Host, machine: &Machine, tcm: Option<&Tcm>) -> Self {
        Self {
            chip: machine.cores.iter().find_map(|core| chip(core.kind)),
            cores: machine.cores.clone(),
            workers: host.workers(),
            scratchpads: tcm.map(|tcm| (tcm.backend(), tcm.status())),
        }
    }

    /// `PID (PROGRAM)` of those that work on a core.
    pub fn on_core(&self, cpu: usize) -> Vec<String> {
        let here = self.workers.iter().filter(|worker| worker.0 == cpu);
        here.map(|(_, pid, program)| format!("{pid} ({program})")).collect()
    }

    pub fn json(&self) -> Value {
        let core = |core: &Core| {
            json!({
                "cpu": core.cpu,
                "kind": kind(core.kind),
                "vlen": core.isa.vlen,
                "matrix": matrix(core),
                "workers": self.on_core(core.cpu),
            })
        };
        let block = |(id, block): (usize, &BlockStatus)| {
            json!({
                "id": id,
                "bytes": block.bytes,
                "phys": block.phys,
                "cpu_mask": block.cpus,
                "busy": block.busy,
                "owner": block.owner,
            })
        };
        let scratchpads = self.scratchpads.as_ref().map(|(backend, blocks)| {
            let blocks: Vec<Value> = blocks.iter().enumerate().map(block).collect();
            json!({"backend": backend, "blocks": blocks})
        });
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "chip": self.chip,
            "cores": self.cores.iter().map(core).collect::<Vec<_>>(),
            "scratchpads": scratchpads,
        })
    }
}

fn chip(kind: CoreKind) -> Option<&'static str> {
    match kind {
        CoreKind::X60 | CoreKind::A60 => Some("K1"),
        CoreKind::X100 | CoreKind::A100 => Some("K3"),
        CoreKind::Rvv { .. } | CoreKind::Scalar | CoreKind::Host => None,
    }
}

/// Name of a kind of core.
pub fn kind(kind: CoreKind) -> &'static str {
    match kind {
        CoreKind::X60 => "X60",
        CoreKind::A60 => "A60",
        CoreKind::X100 => "X100",
        CoreKind::A100 => "A100",
        CoreKind::Rvv { .. } => "RVV",
        CoreKind::Scalar => "scalar",
        CoreKind::Host => "host",
    }
}

/// Matrix instructions of a core by its ids.
pub fn matrix(core: &Core) -> Option<&'static str> {
    match (core.isa.ime1, core.isa.ime2) {
        (_, true) => Some("IME2"),
        (true, _) => Some("IME1"),
        _ => None,
    }
}
