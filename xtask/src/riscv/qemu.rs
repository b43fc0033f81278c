//! QEMU's user mode, and the processors it plays.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::{apt, directory, is_made, once};
use crate::{Result, process};

/// K1: vector registers of 256 bits, the ids of X60.
pub const K1: &str = "rv64,v=true,vlen=256,elen=64,zvfh=true,zfh=true,zba=true,zbb=true,zbc=true,zbs=true,\
                      zicbom=true,zicboz=true,zicbop=true,zicond=true,zvkt=true,zkt=true,\
                      mvendorid=0x710,marchid=0x8000000058000001,mimpid=0x1000000049772200";
/// K3's matrix cores: vector registers of 1024 bits, the ids of A100.
pub const K3: &str = "rv64,v=true,vlen=1024,elen=64,zvfh=true,zfh=true,zfa=true,zba=true,zbb=true,zbc=true,zbs=true,\
                      zicbom=true,zicboz=true,zicond=true,zvbb=true,zvbc=true,zvkng=true,\
                      zfbfmin=true,zvfbfmin=true,zvfbfwma=true,\
                      mvendorid=0x710,marchid=0x8000000041000002,mimpid=0x10000000d5686200";
/// A 64-bit core without vectors.
pub const SCALAR: &str = "rv64,v=false";

/// A processor with vector registers of `vlen` bits that leaves nothing as a kernel may hope for: elements of the tail and
/// masked-off elements become ones, and `vsetvl` answers the shortest length that the specification allows.
pub fn strict(vlen: usize) -> String {
    let processor = match vlen {
        256 => K1.to_owned(),
        1024 => K3.to_owned(),
        _ => format!("rv64,v=true,vlen={vlen},elen=64,zvfh=true,zfh=true"),
    };
    processor + ",rvv_ta_all_1s=true,rvv_ma_all_1s=true,rvv_vl_half_avl=true"
}

/// The oldest release that knows these processors.
const OLDEST: u32 = 10;
const SOURCE: &str = "Debian stable's qemu-user";

/// Whether QEMU has yet to be downloaded.
pub fn needs_mirror() -> bool {
    !is_made(&folder(), SOURCE)
}

/// The emulator, downloaded when it is missing.
pub fn prepare() -> Result<PathBuf> {
    let folder = folder();
    let qemu = folder.join("qemu-riscv64");
    once(&folder, SOURCE, || {
        // The package has an emulator for every processor; one stays.
        let unpacked = folder.join("unpacked");
        apt::unpack("stable", "amd64", "qemu-user", &unpacked)?;
        fs::rename(unpacked.join("usr/bin/qemu-riscv64"), &qemu)
            .and_then(|()| fs::remove_dir_all(&unpacked))
            .map_err(|error| format!("cannot take qemu-riscv64 out of {}: {error}", unpacked.display()))?;
        check_version(&process::output(Command::new(&qemu).arg("--version"))?)
    })?;
    Ok(qemu)
}

/// Refuses a QEMU that is too old by what it prints of its version.
fn check_version(printed: &str) -> Result<()> {
    let major = printed.split("version ").nth(1).and_then(|rest| rest.split('.').next()?.parse::<u32>().ok());
    match major {
        Some(major) if major >= OLDEST => Ok(()),
        _ => Err(format!("QEMU {OLDEST} or newer is needed, and this is {}", printed.trim())),
    }
}

fn folder() -> PathBuf {
    directory().join("qemu")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_qemu_is_refused_by_name() {
        let line = |version: &str| format!("qemu-riscv64 version {version} (Debian 1:{version})\nCopyright ...\n");
        assert!(check_version(&line("10.0.13")).is_ok() && check_version(&line("11.1.2")).is_ok());
        let error = check_version(&line("7.2.0")).unwrap_err();
        assert!(error.contains("QEMU 10 or newer") && error.contains("version 7.2.0"), "{error}");
        assert!(check_version("something else").is_err());
    }
}
