//! `cargo xtask riscv`: the plugin for SpacemiT's boards, cross-built here and tested in QEMU's user mode.

mod apt;
mod build;
mod cross;
mod models;
mod qemu;
mod root;
mod rust;
mod test;

use std::fs;
use std::path::{Path, PathBuf};

use cross::Emulation;
use rust::Toolchain;

use crate::{Result, workspace};

/// The flag that makes it a failure when this machine cannot run the command.
const REQUIRE: &str = "--require-riscv";

/// `cargo xtask riscv setup | build | test`
pub fn run(arguments: &[String]) -> Result<()> {
    let required = arguments.iter().any(|one| one == REQUIRE);
    let words: Vec<&str> = arguments.iter().map(String::as_str).filter(|one| *one != REQUIRE).collect();
    let (action, lanes) = words.split_first().ok_or("riscv needs setup, build or test")?;
    match *action {
        "setup" | "build" if !lanes.is_empty() => return Err(format!("riscv {action} takes no argument {}", lanes[0])),
        "setup" | "build" => {}
        "test" => test::check_names(lanes)?,
        _ => return Err(format!("riscv knows setup, build and test, not {action}")),
    }
    if let Some(obstacle) = obstacle(*action != "build") {
        if required {
            return Err(obstacle);
        }
        println!("riscv {action} was NOT RUN: {obstacle}");
        return Ok(());
    }
    let toolchain = Toolchain::prepare()?;
    if *action == "build" {
        return build::run(&toolchain);
    }
    let emulation = Emulation { toolchain, qemu: qemu::prepare()?, root: root::prepare()? };
    if *action == "test" { test::run(&emulation, lanes) } else { Ok(()) }
}

/// Why this machine cannot build, or also not emulate, if it cannot.
fn obstacle(emulation: bool) -> Option<String> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Some("it needs Linux on x86-64".into());
    }
    let mut packages = vec![
        ("riscv64-linux-gnu-gcc", "gcc-riscv64-linux-gnu"),
        ("/usr/riscv64-linux-gnu/lib/Scrt1.o", "libc6-dev-riscv64-cross"),
    ];
    packages.extend(rust::packages());
    if emulation {
        packages.push(("xz", "xz-utils"));
        packages.extend(root::packages());
    }
    if let Err(missing) = apt::install_missing(&packages) {
        return Some(missing);
    }
    let download = emulation && (root::needs_mirror() || qemu::needs_mirror());
    if download { apt::mirror().err() } else { None }
}

/// The folder of all that the command makes.
fn directory() -> PathBuf {
    workspace::target().join("riscv")
}

/// Fills `directory` by `make` unless that was done before, from the same `source`.
fn once(directory: &Path, source: &str, make: impl FnOnce() -> Result<()>) -> Result<()> {
    if is_made(directory, source) {
        return Ok(());
    }
    println!("making {}: {source}", directory.display());
    if directory.exists() {
        fs::remove_dir_all(directory).map_err(|error| format!("cannot remove {}: {error}", directory.display()))?;
    }
    make_directory(directory)?;
    make()?;
    fs::write(stamp(directory), source).map_err(|error| format!("cannot write in {}: {error}", directory.display()))
}

fn is_made(directory: &Path, source: &str) -> bool {
    fs::read_to_string(stamp(directory)).is_ok_and(|made_from| made_from == source)
}

fn stamp(directory: &Path) -> PathBuf {
    directory.join("made-by-xtask")
}

fn make_directory(directory: &Path) -> Result<()> {
    fs::create_dir_all(directory).map_err(|error| format!("cannot make {}: {error}", directory.display()))
}
