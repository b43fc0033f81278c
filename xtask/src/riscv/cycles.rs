//! `cargo xtask riscv cycles`: how long the chips' cores would take, by the model of the crate `cycles`.
//!
//! The example `cycles` of the kernels runs in a QEMU that follows it by that model, once for each reading of what is known of
//! the chips.

mod choices;
mod document;
mod hotspots;
mod item;
mod mca;
mod qemu;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::cross::Emulation;
use super::{directory, qemu as processors};
use crate::{Result, process, workspace};
use item::Item;

/// A core as it is modelled.
pub struct Setting {
    pub name: &'static str,
    /// QEMU's processor.
    cpu: &'static str,
    /// Arguments of the plugin.
    options: &'static str,
    /// Multiplications of one matrix instruction on 8-bit numbers.
    pub dot: f64,
}

pub const SETTINGS: [Setting; 4] = [
    Setting { name: "K1", cpu: processors::K1, options: "core=x60", dot: 128.0 },
    Setting { name: "K3", cpu: processors::K3, options: "core=a100", dot: 1024.0 },
    Setting { name: "K3, stalling loads", cpu: processors::K3, options: "core=a100,loads=stalling", dot: 1024.0 },
    Setting { name: "K3, shared matrix unit", cpu: processors::K3, options: "core=a100,matrix=shared", dot: 1024.0 },
];

/// The document of all items.
const DOCUMENT: &str = "docs/cycles.md";
/// The word for all variants of products instead of the items; those that follow choose among them.
const CHOOSE: &str = "--choose";
/// The word for where the cycles of the one item go that the next words name.
const HOTSPOTS: &str = "--hotspots";
/// Set to write the document again.
const UPDATE: &str = "UPDATE_DOCS";

/// Measures the items whose names contain one of `words`, or all of them, and prints them; they are also in
/// `target/riscv/cycles.json`. The word `llvm-mca` is for the comparison with LLVM's model.
pub fn run(emulation: &Emulation, words: &[String]) -> Result<()> {
    let emulation = Emulation { qemu: qemu::prepare()?, ..emulation.clone() };
    let program = emulation.toolchain.example("kernels", "cycles", "release")?;
    let plugin = plugin()?;
    if let [HOTSPOTS, words @ ..] = &*words.iter().map(String::as_str).collect::<Vec<_>>() {
        return hotspots::show(&emulation, &plugin, &program, words);
    }
    if words.first().is_some_and(|word| word == CHOOSE) {
        let alone = SETTINGS.iter().filter(|setting| !setting.options.contains("shared"));
        let measured = alone.map(|setting| Ok((setting, measure(&emulation, setting, &plugin, &program, words)?)));
        return choices::judge(&measured.collect::<Result<Vec<_>>>()?);
    }
    let mut measured = Vec::new();
    for setting in &SETTINGS {
        let items = measure(&emulation, setting, &plugin, &program, words)?;
        println!("\n{}", setting.name);
        print!("{}", item::table(&items, setting));
        measured.push(items);
    }
    let json = directory().join("cycles.json");
    write(&json, &item::json(&measured))?;
    println!("\n{}", json.display());
    if words.is_empty() || words.iter().any(|word| word == "llvm-mca") {
        let rows = mca::rows(&emulation)?;
        print!("\n{}", document::mca(&rows));
        if words.is_empty() && std::env::var_os(UPDATE).is_some() {
            write(&workspace::root().join(DOCUMENT), &document::text(&measured, &rows))?;
        }
    }
    Ok(())
}

/// Builds the plugin and returns its path.
fn plugin() -> Result<PathBuf> {
    let mut cargo = Command::new(env!("CARGO"));
    process::run(cargo.current_dir(workspace::root()).args(["build", "--release", "--package", "cycles-plugin"]))?;
    Ok(workspace::cargo_target().join("release/libcycles_plugin.so"))
}

fn measure(
    emulation: &Emulation,
    setting: &Setting,
    plugin: &Path,
    program: &Path,
    words: &[String],
) -> Result<Vec<Item>> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (printed, regions) = follow(emulation, setting, plugin, program, &words, "out")?;
    item::read(&printed, &regions)
}

/// Runs the program by the model: what it printed, and what the plugin wrote to the file of its argument `wanted`.
fn follow(
    emulation: &Emulation,
    setting: &Setting,
    plugin: &Path,
    program: &Path,
    words: &[&str],
    wanted: &str,
) -> Result<(String, String)> {
    let file = |name: &str| directory().join(format!("cycles-{name}.txt"));
    let mut options = format!("{},{},out={}", plugin.display(), setting.options, file("out").display());
    if wanted != "out" {
        options += &format!(",{wanted}={}", file(wanted).display());
    }
    let mut command = emulation.command(setting.cpu, None);
    let printed = process::output(command.arg("-plugin").arg(options).arg(program).args(words))?;
    let written = fs::read_to_string(file(wanted));
    Ok((printed, written.map_err(|error| format!("the plugin wrote no {}: {error}", file(wanted).display()))?))
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}
