//! Lanes that run whole models in emulation, the matrix instructions by the emulator.

use std::fs;
use std::path::Path;

use super::cross::Emulation;
use super::{directory, root};
use crate::python::{Venv, newest_onnxruntime};
use crate::{Result, process, workspace};

/// Encoders, by the tests in `tests/tests/models.rs`.
pub const ENCODERS: Test = Test { name: "models", models: &["minilm-fp32", "minilm-dq8"], instruction: "smt.vmadotus" };
/// Decoders with their caches, by the tests in `tests/tests/decoder.rs`.
pub const DECODERS: Test = Test { name: "decoder", models: crate::test::DECODERS, instruction: "smt.vmadot" };

/// An end-to-end test of some models.
pub struct Test {
    name: &'static str,
    models: &'static [&'static str],
    /// What does the integer products.
    instruction: &'static str,
}

/// Runs the test on the processor `cpu` and asserts that its instruction was executed.
pub fn run(emulation: &Emulation, cpu: &str, test: &Test) -> Result<()> {
    Venv::with_onnxruntime(&newest_onnxruntime()?)?.build_models(test.models)?;
    let counts = directory().join("matrix-instructions");
    let _ = fs::remove_file(&counts);
    let mut cargo = emulation.test(cpu, Some(&emulation.toolchain.emulator()?));
    cargo
        .env("SPACEMIT_EP_LIBRARY", emulation.toolchain.plugin("dev")?)
        .env("ORT_DYLIB_PATH", root::library(&emulation.root))
        .env("SPACEMIT_EP_MODELS", workspace::models())
        .env("SPACEMIT_EP_MATRIX", "1")
        .env("IME_COUNTS", &counts)
        .args(["--package", "e2e", "--test", test.name])
        .args(["--", "--include-ignored", "--nocapture", "--test-threads=1"]);
    process::run(&mut cargo)?;
    check_executed(&counts, test.instruction)
}

/// Prints the counts that the emulator left in a file, and asserts that `instruction` is among them.
pub fn check_executed(counts: &Path, instruction: &str) -> Result<()> {
    let counts = fs::read_to_string(counts).map_err(|error| format!("the emulator left no counts: {error}"))?;
    println!("matrix instructions executed:\n{counts}");
    let executed = counts.lines().any(|line| line.starts_with(&format!("{instruction} ")));
    if executed { Ok(()) } else { Err(format!("{instruction} was never executed")) }
}
