//! The lanes `riscv-cases-CHIP` and `cargo xtask riscv cases`: the tests of operators with the provider in emulation.

use std::path::PathBuf;
use std::process::Command;

use super::cross::Emulation;
use super::{directory, models, qemu, root};
use crate::plugin::Profile;
use crate::python::{MODEL_PACKAGES, OLDEST_ONNXRUNTIME, Venv, newest_onnxruntime};
use crate::{Result, process, test, workspace};

/// A chip as QEMU and as the provider's option `target` call it.
pub const CHIPS: [(&str, &str); 2] = [(qemu::K1, "k1"), (qemu::K3, "k3")];

/// Runs `tests/python/emulated.py` with these arguments, and asserts that matrix instructions did integer products.
pub fn run(emulation: &Emulation, (cpu, target): (&str, &str), arguments: &[&str]) -> Result<()> {
    let emulator = emulation.toolchain.emulator()?;
    let program = emulation.toolchain.example("e2e", "remote", "dev")?;
    let library = emulation.toolchain.plugin("dev")?;
    let here = host_program()?;
    let onnxruntime = Venv::with_onnxruntime(OLDEST_ONNXRUNTIME)?.onnxruntime_library()?;
    let counts = directory().join(format!("cases-{target}"));
    // Some tests of operators import what those of models share with them.
    let venv = test::environment(&newest_onnxruntime()?, Profile::Dev, MODEL_PACKAGES)?;
    let mut python = venv.python();
    python
        .env("SPACEMIT_EP_LIBRARY", library)
        .env("ORT_DYLIB_PATH", root::library(&emulation.root))
        .env("IME_COUNTS", &counts)
        .args(["tests/python/emulated.py", "--target", target])
        .arg("--program")
        .arg(here)
        .arg("--onnxruntime")
        .arg(onnxruntime)
        .args(arguments)
        .args(emulation.qemu(cpu, Some(&emulator)))
        .arg(program);
    process::run(&mut python)?;
    models::check_executed(&counts, "smt.vmadotus")
}

/// Builds `tests/examples/remote.rs` for this machine and returns its path.
fn host_program() -> Result<PathBuf> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(workspace::root()).args(["build", "--package", "e2e", "--example", "remote"]);
    process::run(&mut cargo)?;
    Ok(workspace::cargo_target().join("debug/examples/remote"))
}
