//! A riscv64 file tree with ONNX Runtime.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{apt, directory, is_made, once};
use crate::{Result, process};

/// Folder with a packed tree, which is preferred to a download.
const CACHE_VARIABLE: &str = "SPACEMIT_EP_RISCV_CACHE";
/// Its names in that folder: ONNX Runtime alone, or with Python too.
const PACKED: [&str; 2] = ["root-min.tar.xz", "root-testing.tar.xz"];
/// ONNX Runtime's library in the tree: the oldest version that can load providers.
const LIBRARY: &str = "usr/lib/riscv64-linux-gnu/libonnxruntime.so.1.23.2";
/// Debian's suites that have it, and its package.
const SUITES: [&str; 2] = ["testing", "sid"];
const PACKAGE: &str = "libonnxruntime1.23";

/// Programs and packages for making the tree.
pub fn packages() -> Option<(&'static str, &'static str)> {
    needs_mirror().then_some(("mmdebstrap", "mmdebstrap"))
}

/// Whether the tree has yet to be downloaded.
pub fn needs_mirror() -> bool {
    let packed = packed().is_ok_and(|packed| packed.is_some());
    !packed && !is_made(&folder(), &downloaded())
}

/// The tree, made when it is missing.
pub fn prepare() -> Result<PathBuf> {
    let root = folder();
    match packed()? {
        Some(packed) => {
            let made = fs::metadata(&packed).and_then(|data| Ok((data.len(), data.modified()?)));
            let (size, time) = made.map_err(|error| format!("cannot read {}: {error}", packed.display()))?;
            let source = format!("{} of {size} bytes, {time:?}", packed.display());
            once(&root, &source, || {
                process::run(Command::new("tar").arg("-C").arg(&root).arg("-xJf").arg(&packed))
                    .map_err(|error| format!("{error}\n{} is damaged", packed.display()))?;
                complete(&root, &packed.display().to_string())
            })?;
        }
        None => once(&root, &downloaded(), || {
            let mirror = apt::mirror()?;
            if !SUITES.iter().any(|suite| download(suite, &root, &mirror).is_ok()) {
                return Err(format!(
                    "cannot get {PACKAGE} for riscv64 from {mirror}; {CACHE_VARIABLE} can name a copy"
                ));
            }
            complete(&root, &mirror)
        })?,
    }
    Ok(root)
}

/// Path of ONNX Runtime's library in the tree.
pub fn library(root: &Path) -> PathBuf {
    root.join(LIBRARY)
}

fn folder() -> PathBuf {
    directory().join("root")
}

/// The packed tree of the cache; none when no cache is named.
fn packed() -> Result<Option<PathBuf>> {
    let Some(cache) = std::env::var_os(CACHE_VARIABLE) else { return Ok(None) };
    let cache = Path::new(&cache);
    let packed = PACKED.iter().map(|name| cache.join(name)).find(|file| file.exists());
    let message = || format!("{CACHE_VARIABLE} names {}, which has no {}", cache.display(), PACKED.join(" or "));
    packed.map(Some).ok_or_else(message)
}

fn downloaded() -> String {
    format!("Debian {}'s {PACKAGE} for riscv64", SUITES.join(" or "))
}

/// Unpacks the package and what it needs into a new tree, without running anything of it.
fn download(suite: &str, root: &Path, mirror: &str) -> Result<()> {
    fs::remove_dir_all(root).map_err(|error| format!("cannot remove {}: {error}", root.display()))?;
    let mut mmdebstrap = Command::new("mmdebstrap");
    // Indexes of suites that move are often older than they promise to be.
    for option in ["Acquire::Check-Valid-Until \"false\"", "Acquire::Check-Date \"false\""] {
        mmdebstrap.arg(format!("--aptopt={option}"));
    }
    mmdebstrap.args(["--quiet", "--architectures=riscv64", "--variant=extract"]);
    mmdebstrap.arg(format!("--include={PACKAGE}")).arg(suite).arg(root).arg(mirror);
    process::run(&mut mmdebstrap)
}

/// Makes the unpacked tree usable, and checks that it is the right one.
fn complete(root: &Path, source: &str) -> Result<()> {
    if !library(root).exists() {
        return Err(format!("{source} has no {LIBRARY}"));
    }
    if root.join("lib").exists() {
        return Ok(());
    }
    std::os::unix::fs::symlink("usr/lib", root.join("lib"))
        .map_err(|error| format!("cannot link in {}: {error}", root.display()))
}
