//! A QEMU that loads plugins, which Debian's does not: built from Debian's source, once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::python::Venv;
use crate::riscv::{apt, directory, once, root};
use crate::{Result, process};

const SOURCE: &str = "Debian stable's source of QEMU, with plugins";
/// The program in the folder that [`root::CACHE_VARIABLE`] names.
const CACHED: &str = "qemu-riscv64-plugins";
/// What building needs: programs or files, and their packages.
const PACKAGES: [(&str, &str); 8] = [
    ("cc", "gcc"),
    ("ninja", "ninja-build"),
    ("pkg-config", "pkg-config"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("dpkg-source", "dpkg-dev"),
    ("strip", "binutils"),
    ("/usr/include/glib-2.0/glib.h", "libglib2.0-dev"),
];
const PYTHON_PACKAGES: [&str; 3] = ["meson==1.12.1", "tomli==2.5.0", "pycotap==1.3.1"];
const CONFIGURE: [&str; 10] = [
    "--target-list=riscv64-linux-user",
    "--without-default-features",
    "--enable-linux-user",
    "--enable-plugins",
    "--disable-system",
    "--disable-tools",
    "--disable-docs",
    "--disable-werror",
    "--disable-install-blobs",
    "--disable-download",
];

/// The emulator, from the cache where it is there and runs, else built.
pub fn prepare() -> Result<PathBuf> {
    let folder = directory().join("qemu-plugins");
    let qemu = folder.join("qemu-riscv64");
    once(&folder, SOURCE, || {
        let cache = std::env::var_os(root::CACHE_VARIABLE).map(PathBuf::from);
        let cached = cache.as_ref().map(|cache| cache.join(CACHED));
        if cached.as_ref().is_some_and(|cached| cached.exists() && copy(cached, &qemu).is_ok() && runs(&qemu)) {
            return Ok(());
        }
        build(&folder, &qemu)?;
        // Root could write a folder that nobody is meant to write.
        let permits = |cache: &Path| fs::metadata(cache).is_ok_and(|data| !data.permissions().readonly());
        if let (true, Some(cached)) = (cache.is_some_and(|cache| permits(&cache)), cached) {
            copy(&qemu, &cached)?;
        }
        Ok(())
    })?;
    Ok(qemu)
}

fn build(folder: &Path, qemu: &Path) -> Result<()> {
    apt::install_missing(&PACKAGES)?;
    let venv = Venv::open("qemu")?;
    venv.require(&PYTHON_PACKAGES)?;
    let source = folder.join("source");
    println!("downloading the source of QEMU");
    apt::unpack_source("stable", "qemu", &source)?;
    let build = source.join("build");
    fs::create_dir(&build).map_err(|error| format!("cannot make {}: {error}", build.display()))?;
    let python = venv.executable("python3");
    let programs = std::env::join_paths(
        python
            .parent()
            .map(Path::to_owned)
            .into_iter()
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
    );
    let programs = programs.map_err(|error| format!("PATH cannot be extended: {error}"))?;
    println!("building QEMU, which takes minutes");
    let mut configure = Command::new("../configure");
    configure.current_dir(&build).env("PATH", &programs).args(CONFIGURE);
    process::run(configure.arg(format!("--python={}", python.display())))?;
    process::run(Command::new("ninja").current_dir(&build).env("PATH", &programs).arg("qemu-riscv64"))?;
    copy(&build.join("qemu-riscv64"), qemu)?;
    process::run(Command::new("strip").arg(qemu))?;
    fs::remove_dir_all(&source).map_err(|error| format!("cannot remove {}: {error}", source.display()))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).map(drop).map_err(|error| format!("cannot copy {} to {}: {error}", from.display(), to.display()))
}

fn runs(qemu: &Path) -> bool {
    process::output(Command::new(qemu).arg("--version")).is_ok_and(|version| version.contains("qemu-riscv64"))
}
