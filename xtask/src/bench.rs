//! `cargo xtask bench`: latency, session creation and memory beside the CPU provider.

use crate::python::newest_onnxruntime;
use crate::{Result, plugin, process};

const PACKAGES: &[&str] = &["onnx==1.23.2", "safetensors", "sympy"];

/// The arguments are those of `bench/models.py`.
pub fn run(arguments: &[String]) -> Result<()> {
    let venv = plugin::installed(&newest_onnxruntime()?)?;
    venv.require(PACKAGES)?;
    process::run(venv.python().args(["-m", "bench.models"]).args(arguments))
}
