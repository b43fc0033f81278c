//! A Rust compiler with the standard library of riscv64.
//!
//! rustup's own target where it is installed or can be; else Debian's compiler for the web browsers, `rustc-web`,
//! with the library from the same source that Debian builds for riscv64.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{apt, directory, is_made, make_directory, once};
use crate::{Result, process};

pub const TARGET: &str = "riscv64gc-unknown-linux-gnu";

const DEBIAN_RUSTC: &str = "/usr/bin/rustc";
const DEBIAN_PACKAGE: (&str, &str) = ("rustc", "rustc-web");
const DEBIAN_SOURCE: &str = "Debian stable's libstd-rust-web-dev for riscv64";

/// What cargo has to be told about the compiler.
#[derive(Clone)]
pub struct Toolchain {
    /// Folder with the standard libraries of Debian's compiler; none where rustup's compiler is used.
    sysroot: Option<PathBuf>,
}

/// Programs and packages that the toolchain needs.
pub fn packages() -> Option<(&'static str, &'static str)> {
    if has_rustup_target() { None } else { Some(DEBIAN_PACKAGE).filter(|_| !Path::new(DEBIAN_RUSTC).exists()) }
}

impl Toolchain {
    /// Finds or makes the toolchain.
    pub fn prepare() -> Result<Toolchain> {
        if has_rustup_target() {
            return Ok(Toolchain { sysroot: None });
        }
        let sysroot = directory().join("sysroot");
        once(&sysroot, DEBIAN_SOURCE, || make_sysroot(&sysroot))?;
        Ok(Toolchain { sysroot: Some(sysroot) })
    }

    /// Whether it is Debian's compiler, which comes without clippy.
    pub fn is_of_debian(&self) -> bool {
        self.sysroot.is_some()
    }

    /// Tells cargo the compiler.
    pub fn configure(&self, cargo: &mut Command) {
        if let Some(sysroot) = &self.sysroot {
            let flags = format!("target.{TARGET}.rustflags=[\"--sysroot\", {sysroot:?}]");
            cargo.env("RUSTC", DEBIAN_RUSTC).env("RUSTDOC", "/usr/bin/rustdoc").args(["--config", &flags]);
        }
    }
}

/// Whether rustup's compiler has the target's library, after an attempt to get it once.
fn has_rustup_target() -> bool {
    let installed = || {
        let mut rustc = Command::new("rustc");
        rustc.args(["--print", "target-libdir", "--target", TARGET]).stderr(Stdio::null());
        process::output(&mut rustc).is_ok_and(|folder| Path::new(folder.trim()).exists())
    };
    if installed() {
        return true;
    }
    if is_made(&directory().join("sysroot"), DEBIAN_SOURCE) || !apt::has_program("rustup") {
        return false;
    }
    println!("adding the target {TARGET} to rustup's toolchain");
    process::run(Command::new("rustup").args(["target", "add", TARGET])).is_ok() && installed()
}

/// Unpacks Debian's library beside this machine's own, and compiles a program with it as a check.
fn make_sysroot(sysroot: &Path) -> Result<()> {
    let libraries = sysroot.join("lib/rustlib");
    let unpacked = sysroot.join("unpacked");
    make_directory(&libraries)?;
    apt::unpack("stable", "riscv64", "libstd-rust-web-dev", &unpacked)?;
    let own = process::output(Command::new(DEBIAN_RUSTC).args(["--print", "sysroot"]))?;
    let host = "x86_64-unknown-linux-gnu";
    fs::rename(unpacked.join("usr/lib/rustlib").join(TARGET), libraries.join(TARGET))
        .and_then(|()| {
            let own = Path::new(own.trim()).join("lib/rustlib").join(host);
            std::os::unix::fs::symlink(own, libraries.join(host))
        })
        .and_then(|()| fs::remove_dir_all(&unpacked))
        .and_then(|()| fs::write(sysroot.join("probe.rs"), "fn main() {}"))
        .map_err(|error| format!("cannot make {}: {error}", sysroot.display()))?;
    let mut rustc = Command::new(DEBIAN_RUSTC);
    rustc.current_dir(sysroot).args(["--sysroot", ".", "--target", TARGET, "probe.rs"]);
    process::run(rustc.args(["-C", "linker=riscv64-linux-gnu-gcc"])).map_err(|error| {
        format!(
            "{error}\n{DEBIAN_RUSTC} and {DEBIAN_SOURCE} are of different versions; \
             update rustc-web, or use rustup: rustup target add {TARGET}"
        )
    })
}
