//! Private Python environments under `target/venvs`, one for each version of onnxruntime.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use crate::{Result, process, workspace};

/// The oldest version of onnxruntime that can load the provider.
pub const OLDEST_ONNXRUNTIME: &str = "1.23.2";
/// Versions between the oldest and the newest that are tested.
pub const MIDDLE_ONNXRUNTIMES: &[&str] = &["1.24.4", "1.28.0"];

/// What the builders of the models need beside onnxruntime.
pub const MODEL_PACKAGES: &[&str] = &[ONNX, "gguf==0.19.0", "safetensors", "sympy", "tokenizers"];
/// What can run language models in place of our own loop.
pub const GENAI: &str = "onnxruntime-genai==0.18.0";
/// llama.cpp for Python, a language model beside our sessions.
pub const LLAMA: &str = "xllamacpp==2026.10.11549";
/// The newest onnx.
pub const ONNX: &str = "onnx==1.23.2";

/// Keeps onnxruntime's uploader from starting, which it has from 1.29 on: it runs threads on any core and opens files.
pub const NO_TELEMETRY: (&str, &str) = ("ORT_DISABLE_TELEMETRY", "1");

/// How long a look-up of the newest version holds.
const NEWEST_HOLDS: Duration = Duration::from_secs(24 * 60 * 60);

/// A virtual environment that the commands own.
pub struct Venv {
    directory: PathBuf,
}

impl Venv {
    /// The environment called `name`, made when it is missing.
    pub fn open(name: &str) -> Result<Self> {
        let venv = Self { directory: folder().join(name) };
        let _lock = lock()?;
        if !venv.stamp().exists() {
            println!("making the Python environment target/venvs/{name}");
            let mut make = system_python();
            make.args(["-m", "venv", "--clear"]).arg(&venv.directory);
            process::run(&mut make).map_err(|error| {
                format!("{error}\nPython 3.9 or newer with venv and pip is needed (Debian: apt install python3-venv)")
            })?;
            venv.write_stamp(&BTreeSet::new())?;
        }
        Ok(venv)
    }

    /// The environment with this version of onnxruntime and numpy.
    pub fn with_onnxruntime(version: &str) -> Result<Self> {
        let venv = Self::open(version)?;
        venv.require(&[&format!("onnxruntime=={version}"), "numpy"])?;
        Ok(venv)
    }

    /// Installs those of `packages` (pip requirements) that this function has not installed before.
    pub fn require(&self, packages: &[&str]) -> Result<()> {
        let _lock = lock()?;
        let mut installed = self.read_stamp();
        let missing: Vec<&str> = packages.iter().copied().filter(|one| !installed.contains(*one)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        println!("installing {} into {}", missing.join(", "), self.directory.display());
        self.pip_install(&missing)?;
        installed.retain(|old| !missing.iter().any(|new| package_name(new) == package_name(old)));
        installed.extend(missing.into_iter().map(str::to_owned));
        self.write_stamp(&installed)
    }

    /// Installs a wheel file in place of another build of the same version.
    pub fn install_wheel(&self, wheel: &Path) -> Result<()> {
        let wheel = wheel.to_str().ok_or("the path of the wheel is not UTF-8")?;
        let _lock = lock()?;
        self.pip_install(&["--no-deps", "--force-reinstall", wheel])
    }

    /// A command that runs the environment's interpreter at the root of the workspace.
    pub fn python(&self) -> Command {
        let mut command = Command::new(self.executable("python"));
        let (name, value) = NO_TELEMETRY;
        command.current_dir(workspace::root()).env(name, value);
        command
    }

    /// Path of a program of the environment.
    pub fn executable(&self, name: &str) -> PathBuf {
        self.directory.join("bin").join(name)
    }

    /// The shared library of onnxruntime, for programs that load it themselves.
    pub fn onnxruntime_library(&self) -> Result<PathBuf> {
        let script = "import onnxruntime, pathlib; \
                      print(next(pathlib.Path(onnxruntime.__file__).parent.glob('capi/libonnxruntime.so.*')))";
        Ok(process::output(self.python().args(["-c", script]))?.trim().into())
    }

    /// Builds these models, which are then in `workspace::models()`.
    pub fn build_models(&self, names: &[&str]) -> Result<()> {
        self.require(MODEL_PACKAGES)?;
        let _lock = lock()?;
        process::output(self.python().args(["-m", "models.zoo"]).args(names)).map(drop)
    }

    fn pip_install(&self, arguments: &[&str]) -> Result<()> {
        let mut pip = self.python();
        pip.args(["-m", "pip", "install", "--disable-pip-version-check", "--no-compile"]);
        if !std::io::stdout().is_terminal() {
            pip.arg("--quiet");
        }
        process::run(pip.args(arguments))
    }

    fn stamp(&self) -> PathBuf {
        self.directory.join("installed-by-xtask")
    }

    fn read_stamp(&self) -> BTreeSet<String> {
        fs::read_to_string(self.stamp()).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    fn write_stamp(&self, installed: &BTreeSet<String>) -> Result<()> {
        let lines: String = installed.iter().flat_map(|one| [one, "\n"]).collect();
        fs::write(self.stamp(), lines).map_err(|error| format!("cannot write {}: {error}", self.stamp().display()))
    }
}

/// The folder of the environments.
fn folder() -> PathBuf {
    workspace::target().join("venvs")
}

/// Keeps lanes that run side by side from changing environments and models at the same time, until it is dropped.
fn lock() -> Result<File> {
    let path = folder().join("lock");
    let lock = fs::create_dir_all(folder()).and_then(|()| File::create(&path)).and_then(|file| {
        file.lock()?;
        Ok(file)
    });
    lock.map_err(|error| format!("cannot lock {}: {error}", path.display()))
}

/// The name in a requirement like `onnx==1.20.1`.
fn package_name(requirement: &str) -> &str {
    requirement.split("==").next().unwrap_or(requirement)
}

/// A command that runs the interpreter the environments are made with: `$PYTHON`, else `python3`.
pub fn system_python() -> Command {
    let mut command = Command::new(std::env::var_os("PYTHON").unwrap_or_else(|| "python3".into()));
    command.current_dir(workspace::root());
    command
}

/// The newest version of onnxruntime that pip offers to this Python; looked up once a day.
pub fn newest_onnxruntime() -> Result<String> {
    let known = folder().join("newest-onnxruntime");
    let written = fs::metadata(&known).and_then(|data| data.modified()).ok();
    let age = written.and_then(|time| SystemTime::now().duration_since(time).ok());
    if age.is_some_and(|age| age < NEWEST_HOLDS) {
        return fs::read_to_string(&known).map_err(|error| format!("cannot read {}: {error}", known.display()));
    }
    let mut pip = Venv::open("tools")?.python();
    let listing = process::output(pip.args(["-m", "pip", "index", "versions", "onnxruntime"]))
        .map_err(|error| format!("cannot look up the newest onnxruntime: {error}"))?;
    let version =
        listing.split(['(', ')']).nth(1).ok_or_else(|| format!("cannot read what pip index printed: {listing}"))?;
    println!("the newest onnxruntime is {version}");
    fs::write(&known, version).map_err(|error| format!("cannot write {}: {error}", known.display()))?;
    Ok(version.to_owned())
}
