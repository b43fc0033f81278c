//! `cargo xtask demo`: the provider at work on real models, or compared on the user's model.

use crate::plugin::{self, Profile};
use crate::python::{GENAI, LLAMA, MODEL_PACKAGES, newest_onnxruntime};
use crate::{Result, process, workspace};

const USAGE: &str = "usage: cargo xtask demo [search | chat ... | transcribe [FILE.wav] ... | coscheduling ... | \
                     --model MODEL.onnx ...]; chat, transcribe and coscheduling explain themselves with --help";

/// A demo's name, or `--model PATH` to compare on that model; what follows is passed on.
pub fn run(arguments: &[String]) -> Result<()> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (module, rest) = match words.as_slice() {
        [] => ("demo.search", [].as_slice()),
        ["search", rest @ ..] => ("demo.search", rest),
        ["chat", rest @ ..] => ("demo.chat", rest),
        ["transcribe", rest @ ..] => ("demo.transcribe", rest),
        ["coscheduling", rest @ ..] => ("demo.coscheduling", rest),
        ["--model", _, ..] => ("onnxruntime_ep_spacemit", &words[1..]),
        _ => return Err(USAGE.into()),
    };
    let venv = plugin::installed(&newest_onnxruntime()?, Profile::Release)?;
    let mut python = venv.python();
    python.args(["-m", module]);
    if module.starts_with("demo.") {
        venv.require(MODEL_PACKAGES)?;
        // the package is at the root, the user's files are where the command was given
        python.env("PYTHONPATH", workspace::root());
    } else {
        python.arg("compare");
    }
    if rest.contains(&"--genai") {
        venv.require(&[GENAI])?;
    }
    if module == "demo.coscheduling" {
        venv.require(&[LLAMA])?;
    }
    let here = std::env::current_dir().map_err(|error| format!("cannot tell the current folder: {error}"))?;
    println!();
    process::run(python.args(rest).current_dir(here))
}
