//! Cargo for riscv64, with QEMU to run what it builds.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::rust::{TARGET, Toolchain};
use super::{directory, qemu, root};
use crate::{Result, process, workspace};

/// Seconds after which a test program counts as hung.
const TIMEOUT: &str = "1200";

impl Toolchain {
    /// A cargo command for riscv64 at the root of the workspace; its own target folder keeps the host's builds.
    fn cargo(&self, action: &str) -> Command {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.current_dir(workspace::root()).arg(action).args(["--target", TARGET, "--target-dir"]).arg(target());
        cargo.args(["--config", &format!("target.{TARGET}.linker=\"riscv64-linux-gnu-gcc\"")]);
        self.configure(&mut cargo);
        cargo
    }

    /// Builds the plugin library with cargo's `profile` and returns its path.
    pub fn plugin(&self, profile: &str) -> Result<PathBuf> {
        self.library("onnxruntime-ep-spacemit", profile)
    }

    /// Builds the emulator of the matrix instructions to preload and returns its path.
    pub fn emulator(&self) -> Result<PathBuf> {
        self.library("ime-preload", "dev")
    }

    /// Builds an example with cargo's `profile` and returns its path.
    pub fn example(&self, package: &str, name: &str, profile: &str) -> Result<PathBuf> {
        let mut cargo = self.cargo("build");
        process::run(cargo.args(["--profile", profile, "--package", package, "--example", name]))?;
        Ok(target().join(TARGET).join(folder(profile)).join("examples").join(name))
    }

    /// Lints the crates that have code for riscv64 only.
    pub fn lint(&self) -> Result<()> {
        if self.is_of_debian() {
            println!("NOT RUN: clippy has no library of riscv64 that fits; with rustup: rustup target add {TARGET}");
            return Ok(());
        }
        let mut cargo = self.cargo("clippy");
        cargo.args(["--package", "kernels", "--package", "ime", "--package", "ime-preload", "--all-targets"]);
        process::run(cargo.args(["--", "-D", "warnings"]))
    }

    fn library(&self, package: &str, profile: &str) -> Result<PathBuf> {
        process::run(self.cargo("build").args(["--profile", profile, "--package", package]))?;
        Ok(target().join(TARGET).join(folder(profile)).join(format!("lib{}.so", package.replace('-', "_"))))
    }
}

/// What runs the programs.
#[derive(Clone)]
pub struct Emulation {
    pub toolchain: Toolchain,
    /// QEMU's program.
    pub qemu: PathBuf,
    /// The riscv64 file tree.
    pub root: PathBuf,
}

impl Emulation {
    /// Finds or makes all of it.
    pub fn prepare() -> Result<Self> {
        Ok(Self { toolchain: Toolchain::prepare()?, qemu: qemu::prepare()?, root: root::prepare()? })
    }

    /// A `cargo test` whose programs run as those of [`Emulation::command`] do.
    pub fn test(&self, cpu: &str, preload: Option<&Path>) -> Command {
        let mut cargo = self.toolchain.cargo("test");
        cargo.args(["--config", &format!("target.{TARGET}.runner={:?}", self.words(cpu, preload))]);
        cargo
    }

    /// A command to which a program is added that runs on the processor `cpu` in the riscv64 tree, with a library preloaded.
    pub fn command(&self, cpu: &str, preload: Option<&Path>) -> Command {
        let mut command = Command::new("timeout");
        command.args(&self.words(cpu, preload)[1..]);
        command
    }

    fn words(&self, cpu: &str, preload: Option<&Path>) -> Vec<String> {
        let mut words = ["timeout", TIMEOUT].map(str::to_owned).to_vec();
        words.extend(self.qemu(cpu, preload));
        words
    }

    /// The words of [`Emulation::command`] without a limit of time.
    pub fn qemu(&self, cpu: &str, preload: Option<&Path>) -> Vec<String> {
        let path = |path: &Path| path.display().to_string();
        let mut words = vec![path(&self.qemu), "-cpu".into(), cpu.into(), "-L".into(), path(&self.root)];
        if let Some(library) = preload {
            words.extend(["-E".into(), format!("LD_PRELOAD={}", library.display())]);
        }
        words
    }
}

/// Cargo's folder of a profile.
fn folder(profile: &str) -> &str {
    if profile == "dev" { "debug" } else { profile }
}

fn target() -> PathBuf {
    workspace::cargo_target().join("riscv/cargo")
}

/// Copies a built file into the command's folder and returns the copy's path.
pub fn keep(file: &Path) -> Result<PathBuf> {
    let name = file.file_name().ok_or_else(|| format!("{} is no file", file.display()))?;
    let copy = directory().join(name);
    fs::copy(file, &copy).map_err(|error| format!("cannot copy {}: {error}", file.display()))?;
    Ok(copy)
}
