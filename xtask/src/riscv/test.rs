//! `cargo xtask riscv test`: lanes in emulation.

use std::path::Path;
use std::process::Command;

use super::cross::Emulation;
use super::{models, qemu, root};
use crate::python::{Venv, newest_onnxruntime};
use crate::test::DECODERS;
use crate::{Result, lanes, process, workspace};

struct Lane {
    name: &'static str,
    run: fn(&Emulation) -> Result<()>,
}

const LANES: &[Lane] = &[
    Lane { name: "ime-k1", run: |emulation| ime(emulation, qemu::K1) },
    Lane { name: "ime-k3", run: |emulation| ime(emulation, qemu::K3) },
    Lane { name: "kernels", run: kernels },
    Lane { name: "cores-k1", run: |emulation| cores(emulation, qemu::K1) },
    Lane { name: "cores-k3", run: |emulation| cores(emulation, qemu::K3) },
    Lane { name: "plugin-k1", run: |emulation| plugin(emulation, qemu::K1) },
    Lane { name: "plugin-k3", run: |emulation| plugin(emulation, qemu::K3) },
    Lane { name: "plugin-scalar", run: plugin_without_vectors },
    Lane { name: "models-k1", run: |emulation| models::run(emulation, qemu::K1, "smt.vmadotus") },
    Lane { name: "models-k3", run: |emulation| models::run(emulation, qemu::K3, "smt.vmadotus") },
];

/// Refuses names that no lane has.
pub fn check_names(names: &[&str]) -> Result<()> {
    let known: Vec<&str> = LANES.iter().map(|lane| lane.name).collect();
    match names.iter().find(|name| !known.contains(name)) {
        Some(name) => Err(format!("there is no lane {name}; there are: {}", known.join(", "))),
        None => Ok(()),
    }
}

/// Runs one lane here when one is named, else the named lanes, or all, each in a process of its own.
pub fn run(emulation: &Emulation, names: &[&str]) -> Result<()> {
    if let [name] = names {
        return LANES.iter().filter(|lane| lane.name == *name).try_for_each(|lane| (lane.run)(emulation));
    }
    let all: Vec<&str> = LANES.iter().map(|lane| lane.name).collect();
    let names = if names.is_empty() { &all } else { names };
    lanes::run_all(&["riscv", "test"], &names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>())
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
    Venv::with_onnxruntime(&newest_onnxruntime()?)?.build_models(DECODERS)?;
    let mut cargo = end_to_end(emulation, cpu, Some(&emulation.toolchain.emulator()?))?;
    cargo.env("SPACEMIT_EP_MODELS", workspace::models());
    cargo.args(["--test", "smoke", "--test", "decoder", "--test", "lifecycle", "--test", "boundary"]);
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
