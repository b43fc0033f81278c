//! `cargo xtask riscv`: the plugin for SpacemiT's boards, cross-built here and tested in QEMU's user mode.

mod apt;
mod build;
mod cases;
mod coscheduling;
mod counts;
mod cross;
mod cycles;
mod grid;
mod models;
mod python;
mod qemu;
mod root;
mod rust;
mod test;

use std::fs;
use std::path::{Path, PathBuf};

use cross::Emulation;
use rust::Toolchain;
pub use test::{is_emulated, lanes};

use crate::{Result, workspace};

/// `cargo xtask riscv setup | build | test [LANE ...] | counts | cycles [WORD ...] | cases | coscheduling`; lanes are named without `riscv-`.
pub fn run(arguments: &[String]) -> Result<()> {
    let (action, rest) =
        arguments.split_first().ok_or("riscv needs setup, build, test, counts, cycles, cases or coscheduling")?;
    match (action.as_str(), rest) {
        ("setup", []) => prepare()?.map_or(Ok(()), Err),
        ("build", []) => match obstacle(false) {
            None => build::run(&Toolchain::prepare()?),
            Some(obstacle) => Err(obstacle),
        },
        ("counts", []) => crate::test::run(&test::arguments(&arguments[..1])),
        ("cases", []) => match obstacle(true) {
            None => {
                let emulation = Emulation::prepare()?;
                cases::CHIPS.into_iter().try_for_each(|chip| cases::run(&emulation, chip, &["--all"]))
            }
            Some(obstacle) => Err(obstacle),
        },
        ("coscheduling", []) => match obstacle(true) {
            None => coscheduling::run(&Emulation::prepare()?),
            Some(obstacle) => Err(obstacle),
        },
        ("test", words) => crate::test::run(&test::arguments(words)),
        ("cycles", words) => match obstacle(true) {
            None => cycles::run(&Emulation::prepare()?, words),
            Some(obstacle) => Err(obstacle),
        },
        ("setup" | "build" | "counts" | "cases" | "coscheduling", [word, ..]) => {
            Err(format!("riscv {action} takes no argument {word}"))
        }
        _ => Err(format!("riscv knows setup, build, test, counts, cycles, cases and coscheduling, not {action}")),
    }
}

/// Makes ready what emulation needs; returns why this machine cannot do it, if it cannot.
pub fn prepare() -> Result<Option<String>> {
    let obstacle = obstacle(true);
    if obstacle.is_none() {
        Emulation::prepare()?;
    }
    Ok(obstacle)
}

/// Why this machine cannot build, or also emulate, if it cannot. Missing packages are installed where that is possible.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_from_another_source_is_made_again() {
        let folder = std::env::temp_dir().join(format!("made-once-{}", std::process::id()));
        let make = |source: &str| {
            let mut made = false;
            once(&folder, source, || {
                made = true;
                fs::write(folder.join(source), "").map_err(|error| error.to_string())
            })
            .unwrap();
            made
        };
        assert_eq!([make("old"), make("old"), make("new"), make("new")], [true, false, true, false]);
        assert!(!folder.join("old").exists(), "nothing stale is left");
        assert!(once(&folder, "broken", || Err("no".into())).is_err());
        assert!(!is_made(&folder, "broken") && !is_made(&folder, "new"));
        fs::remove_dir_all(folder).unwrap();
    }
}
