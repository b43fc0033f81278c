//! `cargo xtask riscv build`: what a board needs.

use std::path::Path;

use super::rust::Toolchain;
use super::{cross, directory};
use crate::{Result, plugin};

/// The newest glibc that the library may need: that of Debian 12, which the boards' systems are made from.
const NEWEST_GLIBC: u32 = 36;

/// Builds the plugin library and its wheel into `target/riscv`.
pub fn run(toolchain: &Toolchain) -> Result<()> {
    let library = cross::keep(&toolchain.plugin("release")?)?;
    let wheel = plugin::wheel_of(&library, &directory())?;
    check_glibc(&wheel)?;
    println!("{}\n{}", library.display(), wheel.display());
    Ok(())
}

/// The wheel's name ends in `manylinux_2_MINOR_riscv64.whl`, from the newest symbol that the library needs.
fn check_glibc(wheel: &Path) -> Result<()> {
    let name = wheel.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let tag = name.rsplit_once("manylinux_2_").and_then(|(_, tag)| tag.strip_suffix("_riscv64.whl"));
    match tag.and_then(|minor| minor.parse::<u32>().ok()) {
        Some(minor) if minor <= NEWEST_GLIBC => Ok(()),
        _ => Err(format!("{name} is not for riscv64 with glibc 2.{NEWEST_GLIBC} or older")),
    }
}
