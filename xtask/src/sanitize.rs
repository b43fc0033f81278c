//! `cargo xtask sanitize`: the model checker of threads, many sessions in many threads, and tests under Miri, the address
//! sanitizer, the thread sanitizer and valgrind. Most need a nightly toolchain and all take long, so they are not part of `cargo xtask test`.

use std::process::Command;

use crate::plugin::{self, Profile};
use crate::python::{NO_TELEMETRY, Venv, newest_onnxruntime};
use crate::{Result, process, workspace};

/// Tests of safe code and of the threads, memory and tapes under it. Vector code is beyond Miri.
const MIRI: &[(&str, &[&str])] = &[
    ("kernels", &["mem::", "rt::", "tape::", "tensor::", "--skip", "rt::faults", "--skip", "coscheduling"]),
    ("ep", &["claim::", "plan::", "options::", "ops::reshape", "ops::concat", "ops::split"]),
];
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Runs the named tool, or all.
pub fn run(arguments: &[String]) -> Result<()> {
    type Tool = (&'static str, fn() -> Result<()>);
    let tools: [Tool; 6] = [
        ("model", model),
        ("cycles", cycles),
        ("miri", miri),
        ("address", address),
        ("thread", thread),
        ("valgrind", valgrind),
    ];
    if let Some(unknown) = arguments.iter().find(|name| tools.iter().all(|(tool, _)| tool != name)) {
        return Err(format!("there is no tool {unknown}; there are: {}", tools.map(|(tool, _)| tool).join(", ")));
    }
    for (name, tool) in tools {
        if arguments.is_empty() || arguments.iter().any(|wanted| wanted == name) {
            println!("== {name}");
            tool()?;
        }
    }
    Ok(())
}

/// Every order of events of the barrier, the mailboxes, a run and the grants, by loom.
fn model() -> Result<()> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(workspace::root()).env("RUSTFLAGS", "--cfg loom");
    cargo.env("CARGO_TARGET_DIR", workspace::cargo_target().join("model"));
    process::run(cargo.args(["test", "--package", "kernels", "--lib", "--", "rt::model::"]))
}

/// `cargo +nightly` with a target folder of its own, so that nothing of the normal builds is rebuilt.
fn nightly(folder: &str) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(workspace::root()).arg("+nightly");
    // The toolchain that started this program would otherwise win.
    cargo.env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO").env_remove("RUSTC");
    cargo.env("CARGO_TARGET_DIR", workspace::cargo_target().join(folder));
    cargo
}

fn components(names: &[&str]) -> Result<()> {
    process::run(Command::new("rustup").args(["component", "add", "--toolchain", "nightly"]).args(names))
        .map_err(|error| format!("{error}; these tests need a nightly toolchain: rustup toolchain install nightly"))
}

fn miri() -> Result<()> {
    components(&["miri", "rust-src"])?;
    for (package, filters) in MIRI {
        let mut cargo = nightly("miri");
        cargo.env("MIRIFLAGS", "-Zmiri-disable-isolation").args(["miri", "test", "-p", package, "--lib", "--"]);
        process::run(cargo.args(*filters))?;
    }
    Ok(())
}

/// The unit tests of all crates that have unsafe code.
fn address() -> Result<()> {
    let mut cargo = nightly("address");
    cargo.env("RUSTFLAGS", "-Zsanitizer=address");
    process::run(cargo.args(["test", "--lib", "--target", TARGET, "-p", "kernels", "-p", "onnxruntime-ep-spacemit"]))
}

/// The tests of teams and tapes.
fn thread() -> Result<()> {
    components(&["rust-src"])?;
    let mut cargo = nightly("thread");
    cargo.env("RUSTFLAGS", "-Zsanitizer=thread").args(["test", "-Zbuild-std", "--lib", "--target", TARGET]);
    process::run(cargo.args(["-p", "kernels", "--", "rt::", "tape::"]))
}

/// 1000 sessions made, run and dropped in eight threads, which leave nothing behind.
fn cycles() -> Result<()> {
    let mut cargo = end_to_end()?;
    process::run(cargo.env("SPACEMIT_EP_CYCLES", "125").args(["test", "-p", "e2e", "--test", "leaks"]))
}

/// Cargo with stock ONNX Runtime and the plugin for the end-to-end tests.
fn end_to_end() -> Result<Command> {
    let venv = Venv::with_onnxruntime(&newest_onnxruntime()?)?;
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .current_dir(workspace::root())
        .envs([NO_TELEMETRY])
        .env("SPACEMIT_EP_LIBRARY", plugin::library(Profile::Release)?)
        .env("ORT_DYLIB_PATH", venv.onnxruntime_library()?);
    Ok(cargo)
}

/// A few sessions in stock ONNX Runtime; an invalid access of ours fails the run.
fn valgrind() -> Result<()> {
    let suppressions = workspace::root().join("tests/valgrind.supp");
    let mut cargo = end_to_end()?;
    cargo
        .env(
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER",
            format!("valgrind --quiet --error-exitcode=9 --suppressions={}", suppressions.display()),
        )
        .args(["test", "-p", "e2e", "--test", "smoke", "--", "--test-threads=1"]);
    process::run(&mut cargo)
}
