//! Places in the work tree.

use std::path::{Path, PathBuf};

/// The root of the workspace.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("/"))
}

/// The folder for what the commands make, other than cargo's own output: environments, models, wheels.
pub fn target() -> PathBuf {
    root().join("target")
}

/// The folder of built models.
pub fn models() -> PathBuf {
    target().join("models")
}

/// The folder of cargo's own output.
pub fn cargo_target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(target, |directory| root().join(directory))
}
