//! Debian packages: installed ones for this machine, and files of other suites and processors.
//!
//! The machine's own package sources stay as they are: other suites are read through a private state of apt.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{directory, make_directory};
use crate::{Result, process};

/// Debian's mirror when the machine's own package sources name none (as on Ubuntu).
const MIRROR_VARIABLE: &str = "SPACEMIT_EP_DEBIAN_MIRROR";
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Installs the packages of the programs that are missing; `programs` are pairs of program, by name or path, and package.
pub fn install_missing(programs: &[(&str, &str)]) -> Result<()> {
    let missing: Vec<&str> = programs.iter().filter(|one| !has_program(one.0)).map(|one| one.1).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names = missing.join(" ");
    let is_root = process::output(Command::new("id").arg("-u")).is_ok_and(|user| user.trim() == "0");
    if !has_program("apt-get") || !is_root {
        return Err(format!("these packages are missing: {names} (as root: apt-get install {names})"));
    }
    println!("installing {names}");
    let install = || {
        let mut apt = Command::new("apt-get");
        apt.env("DEBIAN_FRONTEND", "noninteractive").stdout(Stdio::null());
        process::run(apt.args(["install", "-qq", "-y", "--no-remove", "--no-install-recommends"]).args(&missing))
    };
    install().or_else(|_| {
        process::run(Command::new("apt-get").args(["update", "-qq"]))?;
        install()
    })
}

/// Whether a program, by name or path, is there.
pub fn has_program(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(name).exists())
}

/// Address of the Debian mirror that this machine uses.
pub fn mirror() -> Result<String> {
    if let Ok(mirror) = std::env::var(MIRROR_VARIABLE) {
        return Ok(mirror);
    }
    let listing = process::output(Command::new("apt-get").args(["indextargets", "--format", "$(REPO_URI)"]))?;
    debian_of(&listing)
}

/// The first of these addresses that is of Debian's packages, not of its security updates or another system.
fn debian_of(listing: &str) -> Result<String> {
    let mut addresses = listing.lines().map(|line| line.trim_end_matches('/'));
    let debian = addresses.find(|address| address.split('/').any(|part| part == "debian"));
    debian.map(str::to_owned).ok_or_else(|| {
        format!("apt's configuration names no mirror of Debian; {MIRROR_VARIABLE} can name one (http://.../debian)")
    })
}

/// Downloads a package of any suite and processor and unpacks it into `into`, without installing it.
pub fn unpack(suite: &str, architecture: &str, package: &str, into: &Path) -> Result<()> {
    let state = private_state(suite, architecture, "deb")?;
    let downloads = directory().join("downloads");
    make_directory(&downloads)?;
    let mut apt = Command::new("apt-get");
    apt.current_dir(&downloads).env("APT_CONFIG", &state).args(["download", "-qq", package]);
    process::run(&mut apt).map_err(|error| format!("{error}\ncannot download {package} of Debian {suite}"))?;
    let read = |error| format!("cannot read {}: {error}", downloads.display());
    for file in fs::read_dir(&downloads).map_err(read)? {
        process::run(Command::new("dpkg-deb").arg("-x").arg(file.map_err(read)?.path()).arg(into))?;
    }
    fs::remove_dir_all(&downloads).map_err(|error| format!("cannot remove {}: {error}", downloads.display()))
}

/// Downloads the source of a package of any suite and unpacks it into `into`, without Debian's changes to it.
pub fn unpack_source(suite: &str, package: &str, into: &Path) -> Result<()> {
    let state = private_state(suite, "amd64", "deb-src")?;
    let downloads = directory().join("downloads");
    make_directory(&downloads)?;
    make_directory(into)?;
    let mut apt = Command::new("apt-get");
    apt.current_dir(&downloads).env("APT_CONFIG", &state).args(["source", "-qq", "--download-only", package]);
    process::run(&mut apt)
        .map_err(|error| format!("{error}\ncannot download the source of {package} of Debian {suite}"))?;
    let read = |error| format!("cannot read {}: {error}", downloads.display());
    for file in fs::read_dir(&downloads).map_err(read)? {
        let file = file.map_err(read)?.path();
        if file.to_string_lossy().contains(".orig.tar.") {
            process::run(Command::new("tar").arg("-xf").arg(file).args(["--strip-components=1", "-C"]).arg(into))?;
        }
    }
    fs::remove_dir_all(&downloads).map_err(|error| format!("cannot remove {}: {error}", downloads.display()))
}

/// Makes apt's state for one suite, processor and kind of package (`deb` or `deb-src`), with a fresh index, and returns its
/// configuration file.
fn private_state(suite: &str, architecture: &str, kind: &str) -> Result<PathBuf> {
    let state = directory().join(format!("apt/{suite}-{architecture}-{kind}"));
    for folder in ["lists/partial", "cache/archives/partial"] {
        make_directory(&state.join(folder))?;
    }
    let mirror = mirror()?;
    let place = state.display();
    let configuration = format!(
        "Dir::Etc::SourceList \"{place}/sources.list\"; Dir::Etc::SourceParts \"/dev/null\";
Dir::Etc::Preferences \"/dev/null\"; Dir::Etc::PreferencesParts \"/dev/null\";
Dir::State \"{place}\"; Dir::State::Status \"{place}/status\"; Dir::Cache \"{place}/cache\";
APT::Architecture \"{architecture}\"; APT::Architectures {{ \"{architecture}\"; }}; APT::Sandbox::User \"root\";
Acquire::Check-Valid-Until \"false\"; Acquire::Check-Date \"false\";\n"
    );
    let source = format!("{kind} [arch={architecture} signed-by={KEYRING}] {mirror} {suite} main\n");
    for (name, text) in [("status", ""), ("sources.list", &source), ("apt.conf", &configuration)] {
        let file = state.join(name);
        fs::write(&file, text).map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    }
    let configuration = state.join("apt.conf");
    process::run(Command::new("apt-get").env("APT_CONFIG", &configuration).args(["update", "-qq"]))
        .map_err(|error| format!("{error}\ncannot read the index of Debian {suite} from {mirror}"))?;
    Ok(configuration)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mirror_is_that_of_debian() {
        let listing = "http://example.org/debian-security/\nhttp://example.org/mirror/debian/\n";
        assert_eq!(debian_of(listing).unwrap(), "http://example.org/mirror/debian");
        let error = debian_of("http://example.org/ubuntu\n").unwrap_err();
        assert!(error.contains("no mirror of Debian") && error.contains(MIRROR_VARIABLE), "{error}");
    }
}
