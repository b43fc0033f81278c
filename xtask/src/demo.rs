//! `cargo xtask demo`: the provider at work on a sentence embedder, or compared on the user's model.

use crate::python::{MODEL_PACKAGES, newest_onnxruntime};
use crate::{Result, plugin, process};

/// `--model PATH` compares on that model; what follows is passed on to the comparison.
pub fn run(arguments: &[String]) -> Result<()> {
    let venv = plugin::installed(&newest_onnxruntime()?)?;
    let mut python = venv.python();
    match arguments {
        [] => {
            venv.require(MODEL_PACKAGES)?;
            python.args(["-m", "demo.search"]);
        }
        [flag, model, rest @ ..] if flag == "--model" => {
            let here = std::env::current_dir().map_err(|error| format!("cannot tell the current folder: {error}"))?;
            python.current_dir(here).args(["-m", "onnxruntime_ep_spacemit", "compare", model]).args(rest);
        }
        _ => return Err("usage: cargo xtask demo [--model MODEL.onnx ...]".into()),
    }
    println!();
    process::run(&mut python)
}
