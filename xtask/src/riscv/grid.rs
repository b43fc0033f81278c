//! The lanes `riscv-grid-VLEN`: every micro-kernel on its grid of shapes, at one length of the vector registers.
//!
//! The tests print a line for each kernel. Those of a lane are its column in `docs/kernels.md`.

use std::fs;

use super::cross::Emulation;
use super::qemu;
use crate::{Result, process, workspace};

mod table;

use table::Table;

/// Bits of a vector register that are tested: K1's 256 and K3's 1024 with their ids, and one beside each.
pub const VLENS: [usize; 4] = [128, 256, 512, 1024];

const DOCUMENT: &str = "docs/kernels.md";
/// Set to write the document again.
const UPDATE: &str = "UPDATE_DOCS";

/// Runs the grid tests at `vlen`, and compares the document with what they printed.
pub fn run(emulation: &Emulation, vlen: usize) -> Result<()> {
    let mut cargo = emulation.test(&qemu::strict(vlen), None);
    cargo.args([
        "--package",
        "kernels",
        "--test",
        "matmul",
        "--test",
        "nbits",
        "--test",
        "vectors",
        "--test",
        "choices",
        "--",
        "--show-output",
    ]);
    let printed = process::output(&mut cargo).inspect(|printed| println!("{printed}"))?;
    let path = workspace::root().join(DOCUMENT);
    let old = fs::read_to_string(&path).unwrap_or_default();
    let mut table = Table::parse(&old);
    table.renew(vlen, &printed)?;
    let new = table.to_string();
    if old == new {
        return Ok(());
    }
    if std::env::var_os(UPDATE).is_none() {
        return Err(format!(
            "{DOCUMENT} is not what the tests printed; write it with {UPDATE}=1 cargo xtask riscv test"
        ));
    }
    fs::write(&path, new).map_err(|error| format!("cannot write {}: {error}", path.display()))
}
