//! The lanes of RISC-V, all in emulation.

use std::path::Path;
use std::process::Command;

use super::cross::Emulation;
use super::{cases, counts, grid, models, python, qemu, root};
use crate::lanes::Lane;
use crate::{Result, process};

/// What the names of these lanes begin with.
const PREFIX: &str = "riscv-";

/// A lane's name without the prefix, and what it runs.
type Row = (&'static str, fn(&Emulation) -> Result<()>);

const LANES: &[Row] = &[
    ("clippy", |emulation| emulation.toolchain.lint()),
    ("ime-k1", |emulation| ime(emulation, qemu::K1)),
    ("ime-k3", |emulation| ime(emulation, qemu::K3)),
    ("kernels", kernels),
    ("drivers-k1", |emulation| drivers(emulation, qemu::K1)),
    ("drivers-k3", |emulation| drivers(emulation, qemu::K3)),
    ("cores-k1", |emulation| cores(emulation, qemu::K1)),
    ("cores-k3", |emulation| cores(emulation, qemu::K3)),
    ("grid-128", |emulation| grid::run(emulation, 128)),
    ("grid-256", |emulation| grid::run(emulation, 256)),
    ("grid-512", |emulation| grid::run(emulation, 512)),
    ("grid-1024", |emulation| grid::run(emulation, 1024)),
    ("counts", counts::run),
    ("plugin-k1", |emulation| plugin(emulation, qemu::K1)),
    ("plugin-k3", |emulation| plugin(emulation, qemu::K3)),
    ("plugin-scalar", plugin_without_vectors),
    ("models-k1", |emulation| models::run(emulation, qemu::K1, &models::ENCODERS)),
    ("models-k3", |emulation| models::run(emulation, qemu::K3, &models::ENCODERS)),
    ("decoder-k1", |emulation| models::run(emulation, qemu::K1, &models::DECODERS)),
    ("decoder-k3", |emulation| models::run(emulation, qemu::K3, &models::DECODERS)),
    ("python", python::run),
];

/// Those that also run the provider here, in the environments of the other lanes.
const LANES_OF_BOTH: &[Row] = &[
    ("cases-k1", |emulation| cases::run(emulation, cases::CHIPS[0], &[])),
    ("cases-k3", |emulation| cases::run(emulation, cases::CHIPS[1], &[])),
];

/// The lanes, under their full names.
pub fn lanes() -> impl Iterator<Item = Lane> {
    let lane = |(name, run): &'static Row| Lane::new(&prefixed(name), || run(&Emulation::prepare()?));
    LANES_OF_BOTH.iter().map(lane).chain(LANES.iter().map(move |row| lane(row).emulated()))
}

/// Whether the lane is one of these.
pub fn is_emulated(lane: &Lane) -> bool {
    lane.name.starts_with(PREFIX)
}

/// The words after `cargo xtask test` that mean these after `cargo xtask riscv test`.
pub fn arguments(words: &[String]) -> Vec<String> {
    let (flags, names): (Vec<&str>, Vec<&str>) =
        words.iter().map(String::as_str).partition(|word| word.starts_with('-'));
    let all = || LANES_OF_BOTH.iter().chain(LANES).map(|lane| lane.0).collect();
    let names = if names.is_empty() { all() } else { names };
    names.into_iter().map(prefixed).chain(flags.into_iter().map(str::to_owned)).collect()
}

fn prefixed(name: &str) -> String {
    format!("{PREFIX}{name}")
}

/// The instruction model and its emulator, linked and preloaded.
fn ime(emulation: &Emulation, cpu: &str) -> Result<()> {
    process::run(emulation.test(cpu, None).args(["--package", "ime", "--tests"]))?;
    let emulator = emulation.toolchain.emulator()?;
    process::run(emulation.test(cpu, Some(&emulator)).args(["--package", "ime-preload", "--tests"]))
}

/// The kernels' own tests, as a core without vectors runs them.
fn kernels(emulation: &Emulation) -> Result<()> {
    process::run(emulation.test(qemu::SCALAR, None).args(["--package", "kernels", "--lib"]))
}

/// The drivers that have vector kernels.
fn drivers(emulation: &Emulation, cpu: &str) -> Result<()> {
    let tests = [
        "unary",
        "arithmetic",
        "softmax",
        "norm",
        "quantize",
        "convert",
        "strided_copy",
        "matmul_nbits",
        "reduce",
        "compare",
        "select",
        "clip",
        "attention::tests::packed_projections",
        "attention::tests::undefined_rows",
        "attention::tests::cached::scores",
    ];
    let tests = tests.map(|name| format!("ops::{name}"));
    process::run(emulation.test(cpu, None).args(["--package", "kernels", "--lib", "--"]).args(tests))
}

/// Detection of cores and trials of their instructions: with the emulator, whose processor then has the matrix
/// instructions, and without it, where they trap.
fn cores(emulation: &Emulation, cpu: &str) -> Result<()> {
    let tests = ["--package", "kernels", "--lib", "--", "isa::", "sys::", "rt::"];
    process::run(emulation.test(cpu, None).args(tests))?;
    let emulator = emulation.toolchain.emulator()?;
    process::run(emulation.test(cpu, Some(&emulator)).env("SPACEMIT_EP_MATRIX", "1").args(tests))
}

/// End-to-end tests to leave out: those that need a compiler or thousands of sessions, and one of groups in several
/// graphs, which ONNX Runtime 1.23 cannot have.
const LEFT_OUT: [&str; 3] = ["readme", "bad_models", "only_the_control_flow_node_is_left_to_the_cpu"];

/// The plugin in ONNX Runtime, with the emulator preloaded.
fn plugin(emulation: &Emulation, cpu: &str) -> Result<()> {
    let mut cargo = end_to_end(emulation, cpu, Some(&emulation.toolchain.emulator()?))?;
    cargo.args(["--test", "smoke", "--test", "lifecycle", "--test", "boundary"]);
    cargo.arg("--").args(LEFT_OUT.iter().flat_map(|name| ["--skip", name]));
    process::run(&mut cargo)
}

/// The plugin in ONNX Runtime on a core that it declines to use.
fn plugin_without_vectors(emulation: &Emulation) -> Result<()> {
    process::run(end_to_end(emulation, qemu::SCALAR, None)?.args(["--test", "smoke"]))?;
    process::run(end_to_end(emulation, qemu::SCALAR, None)?.args(["--test", "no_vectors", "--", "--ignored"]))
}

fn end_to_end(emulation: &Emulation, cpu: &str, preload: Option<&Path>) -> Result<Command> {
    let mut cargo = emulation.test(cpu, preload);
    cargo
        .env("SPACEMIT_EP_LIBRARY", emulation.toolchain.plugin("dev")?)
        .env("ORT_DYLIB_PATH", root::library(&emulation.root))
        .args(["--package", "e2e"]);
    Ok(cargo)
}
