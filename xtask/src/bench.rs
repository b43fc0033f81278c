//! `cargo xtask bench`: latency, session creation and memory beside the CPU provider.

use crate::plugin::{self, Profile};
use crate::python::{MODEL_PACKAGES, newest_onnxruntime};
use crate::{Result, process};

/// The arguments are those of `bench/models.py`.
pub fn run(arguments: &[String]) -> Result<()> {
    let venv = plugin::installed(&newest_onnxruntime()?, Profile::Release)?;
    venv.require(MODEL_PACKAGES)?;
    process::run(venv.python().args(["-m", "bench.models"]).args(arguments))
}
