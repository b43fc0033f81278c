//! `cargo xtask test`: every check of the project, as lanes.

use std::collections::BTreeSet;
use std::process::Command;

use crate::lanes::{Lane, run_all};
use crate::plugin::{self, Profile};
use crate::python::{
    GENAI, LLAMA, MIDDLE_ONNXRUNTIMES, MODEL_PACKAGES, NO_TELEMETRY, OLDEST_ONNXRUNTIME, ONNX, Venv, newest_onnxruntime,
};
use crate::{Result, licences, process, riscv, workspace};

/// The oldest version of onnxruntime that runs registered kernels of plugins.
const FIRST_WITH_KERNELS: &str = MIDDLE_ONNXRUNTIMES[0];
/// The onnx whose operator sets the oldest onnxruntime knows.
const ONNX_OF_OLDEST: &str = "onnx==1.20.1";
/// The part of the Python tests that runs on every version of onnxruntime.
const TESTS_OF_ALL_VERSIONS: &[&str] =
    &["tests/python/test_package.py", "tests/python/test_append.py", "tests/python/test_comparison.py"];

/// The models of the end-to-end tests.
pub const DECODERS: &[&str] = &["smollm2-cut-fp32", "smollm2-cut-q4", "smollm2-cut-q8"];

/// The one boundary test that needs claims from several graphs of a model.
const CLAIMS_IN_BODIES: &str = "only_the_control_flow_node_is_left_to_the_cpu";

/// The lane that is run only when it is named: it builds whole language models.
const LONG: &str = "python-long";

/// The flag that makes it a failure when this machine cannot run the lanes of RISC-V.
const REQUIRE: &str = "--require-riscv";

/// Runs one lane here when one is named, else the named lanes, or all but the long one, each in a process of its own.
pub fn run(arguments: &[String]) -> Result<()> {
    let (flags, names): (Vec<&str>, Vec<&str>) =
        arguments.iter().map(String::as_str).partition(|word| word.starts_with('-'));
    if let Some(flag) = flags.iter().find(|flag| **flag != REQUIRE) {
        return Err(format!("test knows the flag {REQUIRE}, not {flag}"));
    }
    let mut chosen = choose(lanes(), &names)?;
    let obstacle = if chosen.iter().any(riscv::is_emulated) { riscv::prepare()? } else { None };
    let mut left_out = Vec::new();
    if let Some(obstacle) = &obstacle {
        if !flags.is_empty() {
            return Err(obstacle.clone());
        }
        left_out = chosen.extract_if(.., |lane| riscv::is_emulated(lane)).map(|lane| lane.name).collect();
    }
    let result = match chosen.as_slice() {
        [] => Ok(()),
        [lane] if names.len() == 1 => (lane.run)(),
        lanes => run_all(lanes),
    };
    if let Some(obstacle) = obstacle {
        println!("NOT RUN: {}, because {obstacle}", left_out.join(", "));
    }
    result
}

/// The lanes of these names, or all but the long one when none is named.
fn choose(lanes: Vec<Lane>, names: &[&str]) -> Result<Vec<Lane>> {
    if let Some(name) = names.iter().find(|name| !lanes.iter().any(|lane| lane.name == **name)) {
        let known: Vec<&str> = lanes.iter().map(|lane| lane.name.as_str()).collect();
        return Err(format!("there is no lane {name}; there are: {}", known.join(", ")));
    }
    let is_chosen = |name: &str| if names.is_empty() { name != LONG } else { names.contains(&name) };
    Ok(lanes.into_iter().filter(|lane| is_chosen(&lane.name)).collect())
}

fn lanes() -> Vec<Lane> {
    let mut lanes = vec![
        Lane::new("rustfmt", || cargo(&["fmt", "--all", "--check"])),
        Lane::new("licences", licences::check),
        Lane::new("ruff", ruff),
        Lane::new("clippy", || cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])),
        Lane::new("rust", rust),
        Lane::new("python", || models("not long", Profile::Dev)),
        Lane::new(LONG, || models("long", Profile::Release)),
    ];
    for version in [OLDEST_ONNXRUNTIME].iter().chain(MIDDLE_ONNXRUNTIMES) {
        lanes.push(Lane::new(&format!("boundary-{version}"), || boundary(version)));
        lanes.push(Lane::new(&format!("python-{version}"), || {
            python(version, Profile::Dev, &[], TESTS_OF_ALL_VERSIONS)
        }));
    }
    lanes.push(Lane::new("conformance", || conformance(&newest_onnxruntime()?, &[])));
    lanes.push(Lane::new("conformance-oldest", || conformance(OLDEST_ONNXRUNTIME, &["--no-table"])));
    lanes.push(Lane::new("conformance-kernels", conformance_of_kernels));
    lanes.extend(riscv::lanes());
    lanes
}

fn cargo(arguments: &[&str]) -> Result<()> {
    process::run(Command::new(env!("CARGO")).current_dir(workspace::root()).args(arguments))
}

fn ruff() -> Result<()> {
    let venv = Venv::open("tools")?;
    venv.require(&["ruff==0.17.6"])?;
    process::run(venv.python().args(["-m", "ruff", "format", "--check", "."]))?;
    process::run(venv.python().args(["-m", "ruff", "check", "."]))
}

/// The tests of the workspace; those of the package `e2e` load the newest onnxruntime and the plugin library.
fn rust() -> Result<()> {
    let venv = Venv::with_onnxruntime(&newest_onnxruntime()?)?;
    venv.build_models(DECODERS)?;
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .current_dir(workspace::root())
        .envs([NO_TELEMETRY])
        .env("SPACEMIT_EP_MODELS", workspace::models())
        .env("SPACEMIT_EP_LIBRARY", plugin::library(Profile::Dev)?)
        .env("ORT_DYLIB_PATH", venv.onnxruntime_library()?)
        .args(["test", "--workspace"]);
    process::run(&mut cargo)
}

/// The end-to-end tests of the C boundary on an older onnxruntime.
fn boundary(onnxruntime: &str) -> Result<()> {
    let venv = Venv::with_onnxruntime(onnxruntime)?;
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .current_dir(workspace::root())
        .envs([NO_TELEMETRY])
        .env("SPACEMIT_EP_LIBRARY", plugin::library(Profile::Dev)?)
        .env("ORT_DYLIB_PATH", venv.onnxruntime_library()?)
        .args(["test", "-p", "e2e", "--test", "boundary", "--test", "lifecycle", "--"]);
    if onnxruntime == OLDEST_ONNXRUNTIME {
        println!("{CLAIMS_IN_BODIES} is not run: before 1.24 the provider claims from one graph only");
        cargo.args(["--skip", CLAIMS_IN_BODIES]);
    }
    process::run(&mut cargo)
}

/// Runs these Python tests on the version of onnxruntime.
fn python(onnxruntime: &str, profile: Profile, packages: &[&str], tests: &[&str]) -> Result<()> {
    let venv = environment(onnxruntime, profile, packages)?;
    process::run(venv.python().args(["-m", "pytest", "-q"]).args(tests))
}

/// Runs all Python tests with this mark, which includes those on real models.
fn models(mark: &str, profile: Profile) -> Result<()> {
    let packages = [MODEL_PACKAGES, &[GENAI, LLAMA]].concat();
    python(&newest_onnxruntime()?, profile, &packages, &["-m", mark, "tests/python"])
}

/// Runs ONNX's node tests on the version of onnxruntime.
fn conformance(onnxruntime: &str, arguments: &[&str]) -> Result<()> {
    let venv = environment(onnxruntime, Profile::Dev, &[])?;
    process::run(venv.python().arg("tests/python/conformance.py").args(arguments))
}

/// Runs a sample of the node tests with each node as a registered kernel, on the first and the newest version that can.
fn conformance_of_kernels() -> Result<()> {
    for version in [FIRST_WITH_KERNELS, &newest_onnxruntime()?] {
        conformance(version, &["--mode", "kernels", "--every", "8"])?;
    }
    Ok(())
}

/// The environment with a fresh build of our wheel and the tests' packages.
pub fn environment(onnxruntime: &str, profile: Profile, packages: &[&str]) -> Result<Venv> {
    println!("onnxruntime {onnxruntime}");
    let venv = plugin::installed(onnxruntime, profile)?;
    let onnx = if onnxruntime == OLDEST_ONNXRUNTIME { ONNX_OF_OLDEST } else { ONNX };
    let wanted: BTreeSet<&str> = packages.iter().copied().chain(["pytest", onnx]).collect();
    venv.require(&Vec::from_iter(wanted))?;
    Ok(venv)
}
