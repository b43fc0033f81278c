//! Building the plugin library and its wheel.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::python::{Venv, system_python};
use crate::{Result, process, workspace};

/// `cargo xtask wheel`
pub fn run_wheel(arguments: &[String]) -> Result<()> {
    if !arguments.is_empty() {
        return Err("wheel takes no arguments".into());
    }
    println!("{}", wheel(Profile::Release)?.display());
    Ok(())
}

/// How the plugin library is built.
#[derive(Clone, Copy)]
pub enum Profile {
    /// As it is shipped.
    Release,
    /// With assertions and overflow checks, for tests.
    Dev,
}

/// Builds the plugin library and returns its path.
pub fn library(profile: Profile) -> Result<PathBuf> {
    println!("building the plugin library");
    let (profile, folder) = match profile {
        Profile::Release => ("release", "release"),
        Profile::Dev => ("dev", "debug"),
    };
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(workspace::root());
    process::run(cargo.args(["build", "--profile", profile, "--package", "onnxruntime-ep-spacemit"]))?;
    Ok(workspace::cargo_target().join(folder).join("libonnxruntime_ep_spacemit.so"))
}

/// Builds the wheel around the plugin library and returns its path.
fn wheel(profile: Profile) -> Result<PathBuf> {
    wheel_of(&library(profile)?, &workspace::target().join("wheels"))
}

/// Puts `library` into a wheel in the folder `wheels` and returns the wheel's path.
pub fn wheel_of(library: &Path, wheels: &Path) -> Result<PathBuf> {
    fs::create_dir_all(wheels).map_err(|error| format!("cannot make {}: {error}", wheels.display()))?;
    let mut python = system_python();
    python
        .current_dir(workspace::root().join("python-wheel"))
        .env("SPACEMIT_EP_LIBRARY", library)
        .args(["-B", "-c", "import sys, wheel_builder; print(wheel_builder.build_wheel(sys.argv[1]))"])
        .arg(wheels);
    Ok(wheels.join(process::output(&mut python)?.trim()))
}

/// The environment of this onnxruntime version with a fresh build of our wheel in it.
pub fn installed(onnxruntime: &str, profile: Profile) -> Result<Venv> {
    let wheel = wheel(profile)?;
    let venv = Venv::with_onnxruntime(onnxruntime)?;
    venv.install_wheel(&wheel)?;
    Ok(venv)
}
