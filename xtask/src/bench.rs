//! `cargo xtask bench`: latency, session creation and memory beside the CPU provider.

use crate::python::{MODEL_PACKAGES, newest_onnxruntime};
use crate::{Result, plugin, process};

/// The arguments are those of `bench/models.py`.
pub fn run(arguments: &[String]) -> Result<()> {
    let venv = plugin::installed(&newest_onnxruntime()?)?;
    venv.require(MODEL_PACKAGES)?;
    process::run(venv.python().args(["-m", "bench.models"]).args(arguments))
}
