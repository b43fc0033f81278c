//! The one list of options. The README has it as a table, which a test of this module writes.

use std::time::Duration;

use kernels::mem::MemoryBackend;
use kernels::rt::{Cores, TcmUse};

use super::values::{choose, cpus, list, number, path};
use super::{Accuracy, ClaimOption, ModeOption, Options, TargetOption};

/// An option.
pub struct OptionRow {
    /// Its name as an option of the provider. `ep.spacemit.` before it makes the key of a session's configuration,
    /// `SPACEMIT_EP_` before it, in capitals, an environment variable.
    pub key: &'static str,
    /// What it takes, and what it means, in Markdown.
    pub values: &'static str,
    pub default: &'static str,
    pub meaning: &'static str,
    /// Whether it can change while a session exists.
    pub dynamic: bool,
    /// Reads a value; an error says what the option takes.
    pub set: fn(&mut Options, &str) -> Result<(), String>,
}

/// The row of a key.
pub(super) fn row(key: &str) -> Option<&'static OptionRow> {
    OPTIONS.iter().find(|row| row.key == key)
}

fn put<T>(place: &mut T, value: Result<T, String>) -> Result<(), String> {
    *place = value?;
    Ok(())
}

/// A day.
const MAX_LEASE_MS: usize = 86_400_000;
/// More than any chip has.
const MAX_TCM_BYTES: usize = 1 << 30;

const fn option(
    key: &'static str,
    values: &'static str,
    default: &'static str,
    meaning: &'static str,
    set: fn(&mut Options, &str) -> Result<(), String>,
) -> OptionRow {
    OptionRow { key, values, default, meaning, dynamic: false, set }
}

const fn dynamic(row: OptionRow) -> OptionRow {
    OptionRow { dynamic: true, ..row }
}

/// All options.
pub const OPTIONS: &[OptionRow] = &[
    option(
        "target",
        "`auto`, `host`, `k1`, `k3`, `x100`, `rvv128` to `rvv1024`, `scalar`",
        "`auto`",
        "the machine to plan for; all run anywhere, slowly where their instructions are missing",
        |options, value| put(&mut options.target, choose(value, TARGETS)),
    ),
    dynamic(option(
        "threads",
        "1 to 256",
        "the chip's matrix cores, else the physical cores",
        "worker threads; the Python package sets it from `intra_op_num_threads` unless given",
        |options, value| put(&mut options.threads, number(value, 1, 256).map(Some)),
    )),
    dynamic(option(
        "cores",
        "`8-11`, `8,10`, `auto`, `inherit`",
        "`auto`",
        "CPUs to bind the workers to; with `auto` a K1 or K3 uses its matrix cores, spread over the pairs that share a \
         matrix unit, and other machines bind nothing; with `inherit` workers keep the CPU mask of the process",
        |options, value| {
            options.placement.cores = match value {
                "auto" => Cores::Any,
                "inherit" => Cores::Inherit,
                listed => Cores::These(cpus(listed)?),
            };
            Ok(())
        },
    )),
    option("preferred_cores", "`12-15`", "none", "matrix cores to take before others", |options, value| {
        put(&mut options.placement.preferred, cpus(value))
    }),
    option(
        "share_threads",
        "`yes`, `no`",
        "`no`",
        "sessions of a process that ask for the same workers have the same ones and take turns",
        |options, value| put(&mut options.share_threads, choose(value, &[("yes", true), ("no", false)])),
    ),
    option(
        "lease_timeout_ms",
        "0, 1, ...",
        "60000",
        "longest wait for cores that another session is using",
        |options, value| {
            let wait = number(value, 0, MAX_LEASE_MS).map(|ms| Duration::from_millis(ms as u64));
            put(&mut options.placement.lease.wait, wait)
        },
    ),
    option(
        "on_lease_timeout",
        "`error`, `fewer`",
        "`error`",
        "after that wait, fail the run or run on those of the cores that are free",
        |options, value| put(&mut options.placement.lease.fewer, choose(value, &[("error", false), ("fewer", true)])),
    ),
    dynamic(option(
        "spin_us",
        "0 to 1000000",
        "100",
        "how long an idle worker spins before it sleeps",
        |options, value| {
            let idle = number(value, 0, 1_000_000).map(|us| Duration::from_micros(us as u64));
            put(&mut options.placement.spin.idle, idle)
        },
    )),
    option(
        "tcm",
        "`auto`, `off`, bytes",
        "`auto`",
        "scratchpad memory that workers on a K1 or K3 use when it is free, or at most so many bytes of it",
        |options, value| {
            options.placement.tcm = match value {
                "auto" => TcmUse::Auto,
                "off" => TcmUse::Off,
                bytes => {
                    TcmUse::AtMost(number(bytes, 1, MAX_TCM_BYTES).map_err(|error| format!("{error}, auto or off"))?)
                }
            };
            Ok(())
        },
    ),
    option(
        "mem_backend",
        "`posix`, `hugepage`, `hugetlb`",
        "`posix`",
        "pages of weights and intermediate results: ordinary ones, transparent huge ones, or those of the system's pool, \
         with transparent ones in the place of what the pool lacks",
        |options, value| put(&mut options.mem_backend, choose(value, BACKENDS)),
    ),
    option(
        "accuracy",
        "`fp32`, `fp16`, `int8`",
        "`fp32`",
        "to what products with constant weights may round their operands where that is faster: `fp32` to what the model \
         asks for, `fp16` also to f16 (on cores with vectors of f16), `int8` also to int8 where the weights have 2, 4 or 8 \
         bits",
        |options, value| put(&mut options.accuracy, choose(value, ACCURACIES)),
    ),
    option("disable_ops", "`Softmax,Gemm`", "none", "operators to leave to the CPU provider", |options, value| {
        put(&mut options.disable_ops, Ok(list(value)))
    }),
    option("disable_nodes", "node names", "none", "nodes to leave to the CPU provider", |options, value| {
        put(&mut options.disable_nodes, Ok(list(value)))
    }),
    option(
        "claim",
        "`auto`, `all`",
        "`auto`",
        "`auto` leaves groups that are not worth their boundary to the CPU provider: those with no product, norm, reduction \
         or attention and with fewer than eight other computing nodes",
        |options, value| {
            put(&mut options.claim, choose(value, &[("auto", ClaimOption::Auto), ("all", ClaimOption::All)]))
        },
    ),
    option(
        "mode",
        "`auto`, `compile`, `kernels`",
        "`auto`",
        "how claimed nodes run: with `auto` groups are compiled, and a node that is alone in its group is a kernel registered \
         with ONNX Runtime (from 1.24 on); with `compile` all are compiled; with `kernels` every node is a kernel, without \
         fusions, but `claim=auto` leaves those that only move data",
        |options, value| put(&mut options.mode, choose(value, MODES)),
    ),
    option(
        "plan_cache",
        "1 to 4096",
        "16",
        "programs that a group keeps, one for each set of input shapes; the least recently used goes first",
        |options, value| put(&mut options.plan_cache, number(value, 1, 4096)),
    ),
    option(
        "report",
        "path",
        "none",
        "file for the JSON of claimed and declined nodes, and of the cores that workers are bound to",
        |options, value| put(&mut options.report, path(value)),
    ),
    option(
        "profile",
        "path",
        "none",
        "file for a trace of runs, which Perfetto and Chrome show: lanes of workers, steps with nodes, kernels and shapes, \
         waits, scratchpads",
        |options, value| put(&mut options.profile, path(value)),
    ),
    option("dump_subgraphs", "folder", "none", "writes each compiled group as an ONNX model", |options, value| {
        put(&mut options.dump_subgraphs, path(value))
    }),
    option(
        "dump_tensors",
        "folder",
        "none",
        "writes inputs and outputs of every run of a group as `group-0/test_data_set_0/input_0.pb` and so on, which is \
         ONNX's form of test data",
        |options, value| put(&mut options.dump_tensors, path(value)),
    ),
];

const TARGETS: &[(&str, TargetOption)] = &[
    ("auto", TargetOption::Auto),
    ("host", TargetOption::Host),
    ("k1", TargetOption::K1),
    ("k3", TargetOption::K3),
    ("x100", TargetOption::X100),
    ("rvv128", TargetOption::Rvv(128)),
    ("rvv256", TargetOption::Rvv(256)),
    ("rvv512", TargetOption::Rvv(512)),
    ("rvv1024", TargetOption::Rvv(1024)),
    ("scalar", TargetOption::Scalar),
];

const MODES: &[(&str, ModeOption)] =
    &[("auto", ModeOption::Auto), ("compile", ModeOption::Compile), ("kernels", ModeOption::Kernels)];

const BACKENDS: &[(&str, MemoryBackend)] =
    &[("posix", MemoryBackend::Posix), ("hugepage", MemoryBackend::HugePage), ("hugetlb", MemoryBackend::HugeTlb)];

const ACCURACIES: &[(&str, Accuracy)] = &[("fp32", Accuracy::Fp32), ("fp16", Accuracy::Fp16), ("int8", Accuracy::Int8)];

#[cfg(test)]
mod tests;
