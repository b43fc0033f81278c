//! `cargo xtask riscv coscheduling`: an encoder on the provider beside Debian's llama.cpp, both for riscv64 and in emulation.

use std::fs;
use std::path::{Path, PathBuf};

use super::cross::Emulation;
use super::{apt, directory, once, qemu, root};
use crate::plugin::Profile;
use crate::python::{MODEL_PACKAGES, newest_onnxruntime};
use crate::{Result, process, test};

/// Packages with llama.cpp and what the tree lacks for it.
const PACKAGES: [&str; 5] = ["llama.cpp-tools", "libllama0", "libggml0", "libgomp1", "libssl3t64"];
const SUITE: &str = "testing";
const LIBRARIES: &str = "usr/lib/riscv64-linux-gnu";

/// Runs `demo/emulated_coscheduling.py` on K1's processor.
pub fn run(emulation: &Emulation) -> Result<()> {
    let emulator = emulation.toolchain.emulator()?;
    let encoder = emulation.toolchain.example("e2e", "encoder", "dev")?;
    let library = emulation.toolchain.plugin("dev")?;
    let llama = llama()?;
    let mut encode = emulation.qemu(qemu::K1, Some(&emulator));
    encode.push(encoder.display().to_string());
    let mut python = test::environment(&newest_onnxruntime()?, Profile::Dev, MODEL_PACKAGES)?.python();
    python.env("SPACEMIT_EP_LIBRARY", library).env("ORT_DYLIB_PATH", root::library(&emulation.root));
    python.args(["-m", "demo.emulated_coscheduling", "--encoder"]).arg(encode.join(" "));
    process::run(python.arg("--decoder").arg(decode(emulation, &llama).join(" ")))
}

/// The words that run llama.cpp.
fn decode(emulation: &Emulation, llama: &Path) -> Vec<String> {
    let libraries = llama.join(LIBRARIES);
    let path = |name: &str| libraries.join(name).display().to_string();
    let mut words = emulation.qemu(qemu::K1, None);
    words.extend(["-E".into(), format!("LD_LIBRARY_PATH={}:{}", libraries.display(), path("llama"))]);
    words.extend(["-E".into(), format!("GGML_BACKEND_PATH={}", path("ggml/backends0/libggml-cpu-riscv64_v.so"))]);
    words.push(llama.join("usr/bin/llama-completion").display().to_string());
    words
}

/// The folder of llama.cpp, downloaded when it is missing.
fn llama() -> Result<PathBuf> {
    let folder = directory().join("llama");
    once(&folder, &format!("{} of Debian {SUITE} for riscv64", PACKAGES.join(", ")), || {
        PACKAGES.iter().try_for_each(|package| apt::unpack(SUITE, "riscv64", package, &folder))?;
        let program = folder.join("usr/bin/llama-completion");
        fs::metadata(&program).map(drop).map_err(|error| format!("there is no {}: {error}", program.display()))
    })?;
    Ok(folder)
}
