//! The lane `riscv-python`: the wheel for the boards in a riscv64 Python.

use std::fs;

use super::cross::Emulation;
use super::{directory, qemu, root};
use crate::python::system_python;
use crate::{Result, plugin, process, workspace};

/// Unpacks the wheel and runs `tests/python/smoke.py` with it on K1, with the emulator preloaded.
pub fn run(emulation: &Emulation) -> Result<()> {
    let folder = directory().join("python");
    let (package, counts) = (folder.join("package"), folder.join("executed"));
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|error| format!("cannot remove {}: {error}", folder.display()))?;
    }
    let wheel = plugin::wheel_of(&emulation.toolchain.plugin("dev")?, &folder)?;
    process::run(system_python().args(["-m", "zipfile", "-e"]).args([&wheel, &package]))?;
    let mut python = emulation.command(qemu::K1, Some(&emulation.toolchain.emulator()?));
    python.arg(root::python(&emulation.root)).arg(workspace::root().join("tests/python/smoke.py"));
    process::run(python.env("PYTHONPATH", &package).env("IME_COUNTS", &counts))?;
    let executed = fs::read_to_string(&counts).unwrap_or_default();
    println!("matrix instructions: {}", executed.trim().replace('\n', ", "));
    if executed.is_empty() { Err("no matrix instruction was executed".into()) } else { Ok(()) }
}
