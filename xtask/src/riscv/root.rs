//! A riscv64 file tree with ONNX Runtime and Python.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{apt, directory, is_made, once};
use crate::{Result, process};

/// Folder with a packed tree, which is preferred to a download.
pub const CACHE_VARIABLE: &str = "SPACEMIT_EP_RISCV_CACHE";
/// The packed tree in that folder, and its checksum.
const PACKED: &str = "root-testing.tar.xz";
const SHA256: &str = "34b5106388a0fe5b81a78724f55116861adf0152b552584b56e7d9a95461302c";

/// ONNX Runtime's library in the tree: the oldest version that can load providers.
const LIBRARY: &str = "usr/lib/riscv64-linux-gnu/libonnxruntime.so.1.23.2";
const PYTHON: &str = "usr/bin/python3";
/// Debian's suites that have it, and the packages.
const SUITES: [&str; 2] = ["testing", "sid"];
const PACKAGES: &str = "libonnxruntime1.23,python3,python3-numpy,python3-onnx,python3-onnxruntime";
/// Links that the packages' installation would make.
const LINKS: [(&str, &str); 3] = [
    ("lib", "usr/lib"),
    ("usr/lib/riscv64-linux-gnu/libblas.so.3", "blas/libblas.so.3"),
    ("usr/lib/riscv64-linux-gnu/liblapack.so.3", "lapack/liblapack.so.3"),
];

/// Programs and packages for making the tree.
pub fn packages() -> Option<(&'static str, &'static str)> {
    needs_mirror().then_some(("mmdebstrap", "mmdebstrap"))
}

/// Whether the tree has yet to be downloaded.
pub fn needs_mirror() -> bool {
    std::env::var_os(CACHE_VARIABLE).is_none() && !is_made(&folder(), &downloaded())
}

/// The tree, made when it is missing or from another source.
pub fn prepare() -> Result<PathBuf> {
    let root = folder();
    match std::env::var_os(CACHE_VARIABLE) {
        Some(cache) => once(&root, &format!("{PACKED}, SHA-256 {SHA256}"), || {
            let packed = Path::new(&cache).join(PACKED);
            check(&packed)?;
            process::run(Command::new("tar").arg("-C").arg(&root).arg("-xJf").arg(&packed))?;
            complete(&root, &packed.display().to_string())
        })?,
        None => once(&root, &downloaded(), || {
            let mirror = apt::mirror()?;
            let failures: Vec<String> =
                SUITES.iter().map_while(|suite| download(suite, &root, &mirror).err()).collect();
            if failures.len() == SUITES.len() {
                let failures = failures.join("\n");
                return Err(format!("{failures}\n{CACHE_VARIABLE} can name a folder with {PACKED} instead"));
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

/// Path of Python's program in the tree.
pub fn python(root: &Path) -> PathBuf {
    root.join(PYTHON)
}

fn folder() -> PathBuf {
    directory().join("root")
}

fn downloaded() -> String {
    format!("{PACKAGES} of Debian {} for riscv64", SUITES.join(" or "))
}

/// Refuses a packed tree that is missing or of other contents.
fn check(packed: &Path) -> Result<()> {
    let (name, unset) = (packed.display(), format!("without {CACHE_VARIABLE} it is downloaded"));
    if !packed.exists() {
        return Err(format!("there is no {name}; {unset}"));
    }
    let printed = process::output(Command::new("sha256sum").arg(packed))?;
    match printed.split_whitespace().next() {
        Some(SHA256) => Ok(()),
        sum => Err(format!(
            "{name} is damaged or of another version: its SHA-256 is {}, not {SHA256}; {unset}",
            sum.unwrap_or("unknown")
        )),
    }
}

/// Unpacks the packages and what they need into a new tree, without running anything of them.
fn download(suite: &str, root: &Path, mirror: &str) -> Result<()> {
    if root.exists() {
        fs::remove_dir_all(root).map_err(|error| format!("cannot remove {}: {error}", root.display()))?;
    }
    let mut mmdebstrap = Command::new("mmdebstrap");
    // Indexes of suites that move are often older than they promise to be.
    for option in ["Acquire::Check-Valid-Until \"false\"", "Acquire::Check-Date \"false\""] {
        mmdebstrap.arg(format!("--aptopt={option}"));
    }
    mmdebstrap.args(["--quiet", "--architectures=riscv64", "--variant=extract"]);
    mmdebstrap.arg(format!("--include={PACKAGES}")).arg(suite).arg(root).arg(mirror);
    process::run(&mut mmdebstrap)
        .map_err(|error| format!("{error}\ncannot get {PACKAGES} of Debian {suite} from {mirror}"))
}

/// Makes the unpacked tree usable, and checks that it is the right one.
fn complete(root: &Path, source: &str) -> Result<()> {
    if let Some(missing) = [LIBRARY, PYTHON].iter().find(|file| !root.join(file).exists()) {
        return Err(format!("{source} has no {missing}"));
    }
    for (link, to) in LINKS {
        if !root.join(link).exists() {
            symlink(to, root.join(link))
                .map_err(|error| format!("cannot link {link} in {}: {error}", root.display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_trees_that_are_missing_or_altered_are_refused() {
        let folder = std::env::temp_dir().join(format!("packed-tree-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let packed = folder.join(PACKED);
        let error = check(&packed).unwrap_err();
        assert!(error.contains("there is no") && error.contains(CACHE_VARIABLE), "{error}");
        fs::write(&packed, "another tree").unwrap();
        let error = check(&packed).unwrap_err();
        assert!(error.contains("damaged or of another version") && error.contains(SHA256), "{error}");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_tree_without_onnxruntime_is_refused() {
        let folder = std::env::temp_dir().join(format!("empty-tree-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        assert!(complete(&folder, "a mirror").unwrap_err().contains(LIBRARY));
        fs::remove_dir_all(folder).unwrap();
    }
}
