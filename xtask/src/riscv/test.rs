//! `cargo xtask riscv test`: lanes in emulation.

use super::{Setup, qemu, root};
use crate::{Result, lanes, process};

struct Lane {
    name: &'static str,
    run: fn(&Setup) -> Result<()>,
}

const LANES: &[Lane] = &[
    Lane { name: "ime-k1", run: |setup| ime(setup, qemu::K1) },
    Lane { name: "ime-k3", run: |setup| ime(setup, qemu::K3) },
    Lane { name: "kernels", run: kernels },
    Lane { name: "plugin-k1", run: |setup| plugin(setup, qemu::K1) },
    Lane { name: "plugin-k3", run: |setup| plugin(setup, qemu::K3) },
    Lane { name: "plugin-scalar", run: |setup| plugin(setup, qemu::SCALAR) },
];

/// Runs one lane here when one is named, else the named lanes, or all, each in a process of its own.
pub fn run(setup: &Setup, names: &[String]) -> Result<()> {
    if let Some(name) = names.iter().find(|name| LANES.iter().all(|lane| lane.name != **name)) {
        let known: Vec<&str> = LANES.iter().map(|lane| lane.name).collect();
        return Err(format!("there is no lane {name}; there are: {}", known.join(", ")));
    }
    if let [name] = names {
        return LANES.iter().filter(|lane| lane.name == name).try_for_each(|lane| (lane.run)(setup));
    }
    let all = || LANES.iter().map(|lane| lane.name.to_owned()).collect();
    let names = if names.is_empty() { all() } else { names.to_vec() };
    lanes::run_all(&["riscv", "test"], &names)
}

/// The instruction model and its emulator, linked and preloaded.
fn ime(setup: &Setup, cpu: &str) -> Result<()> {
    process::run(setup.test(cpu, None).args(["--package", "ime", "--tests"]))?;
    let emulator = setup.emulator()?;
    process::run(setup.test(cpu, Some(&emulator)).args(["--package", "ime-preload", "--tests"]))
}

/// The kernels' own tests, as a core without vectors runs them.
fn kernels(setup: &Setup) -> Result<()> {
    process::run(setup.test(qemu::SCALAR, None).args(["--package", "kernels", "--lib"]))
}

/// End-to-end tests to leave out: those that need a compiler or thousands of sessions, and one of groups in several
/// graphs, which ONNX Runtime 1.23 cannot have.
const LEFT_OUT: [&str; 3] = ["readme", "bad_models", "only_the_control_flow_node_is_left_to_the_cpu"];

/// The plugin in ONNX Runtime, with the emulator preloaded where the core has vectors.
fn plugin(setup: &Setup, cpu: &str) -> Result<()> {
    let emulator = if cpu == qemu::SCALAR { None } else { Some(setup.emulator()?) };
    let mut cargo = setup.test(cpu, emulator.as_deref());
    cargo.env("SPACEMIT_EP_LIBRARY", setup.plugin("dev")?).env("ORT_DYLIB_PATH", root::library(&setup.root));
    cargo.args(["--package", "e2e", "--test", "smoke", "--test", "lifecycle", "--test", "boundary"]);
    cargo.arg("--").args(LEFT_OUT.iter().flat_map(|name| ["--skip", name]));
    process::run(&mut cargo)
}
