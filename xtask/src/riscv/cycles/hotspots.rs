//! Where the cycles of an item go: its functions, and the instructions that wait longest.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use super::{SETTINGS, follow};
use crate::riscv::apt;
use crate::riscv::counts::{code::Code, trace};
use crate::riscv::cross::Emulation;
use crate::{Result, process};

/// What prints the instructions, those of the matrix units included.
const DISASSEMBLER: (&str, &str) = ("llvm-objdump-22", "llvm-22");
const EXTENSIONS: &str = "--mattr=+v,+zvfh,+zicbop,+zicboz,+xsmtvdot";
/// Functions that are shown, and instructions of them that took this share of the cycles.
const FUNCTIONS: usize = 12;
const SHARE: f64 = 0.004;

/// What one instruction took.
#[derive(Debug, PartialEq)]
struct Spot {
    /// As the file numbers it.
    address: u64,
    times: u64,
    cycles: u64,
    /// What it waited for, and how long.
    waits: Vec<(String, u64)>,
}

/// Runs the one item that `words` name by the model of each setting, and prints what its functions and instructions took.
pub fn show(emulation: &Emulation, plugin: &Path, program: &Path, words: &[&str]) -> Result<()> {
    apt::install_missing(&[DISASSEMBLER])?;
    let mut objdump = Command::new(DISASSEMBLER.0);
    let listing = ["-d", "-C", "-j", ".text", "--no-show-raw-insn", EXTENSIONS];
    let listing = Listing::of(&process::output(objdump.args(listing).arg(program))?);
    let code = Code::of(program)?;
    for setting in &SETTINGS {
        let (printed, lines) = follow(emulation, setting, plugin, program, words, "hotspots")?;
        let items: Vec<&str> =
            printed.lines().filter_map(|line| line.strip_prefix("item ")?.split(' ').next()).collect();
        let [item] = items.as_slice() else {
            return Err(format!("one item at a time; {} names {}: {}", words.join(" "), items.len(), items.join(", ")));
        };
        let base = trace::base(&printed, &code)?;
        let spots = lines.lines().map(|line| spot(line, base)).collect::<Result<Vec<_>>>()?;
        println!("\n{}: {item}", setting.name);
        print!("{}", table(&spots, &listing));
    }
    Ok(())
}

/// Reads `ADDRESS times=N WAIT=CYCLES ...`.
fn spot(line: &str, base: u64) -> Result<Spot> {
    let bad = || format!("the plugin wrote a line that is not understood: {line}");
    let (address, rest) = line.strip_prefix("0x").and_then(|line| line.split_once(' ')).ok_or_else(bad)?;
    let address = u64::from_str_radix(address, 16).map_err(|_| bad())?.wrapping_sub(base);
    let pairs = rest.split(' ').map(|pair| {
        let (name, count) = pair.split_once('=').ok_or_else(bad)?;
        Ok((name.to_owned(), count.parse().map_err(|_| bad())?))
    });
    let pairs = pairs.collect::<Result<Vec<(String, u64)>>>()?;
    let ((_, times), waits) = pairs.split_first().ok_or_else(bad)?;
    let cycles = waits.iter().map(|(_, cycles)| cycles).sum();
    Ok(Spot { address, times: *times, cycles, waits: waits.to_vec() })
}

/// The program as text.
struct Listing {
    /// Names by first addresses.
    functions: BTreeMap<u64, String>,
    instructions: BTreeMap<u64, String>,
}

impl Listing {
    fn of(text: &str) -> Self {
        let (mut functions, mut instructions) = (BTreeMap::new(), BTreeMap::new());
        let address = |text: &str| u64::from_str_radix(text.trim(), 16).ok();
        for line in text.lines() {
            if let Some((first, name)) = line.strip_suffix(">:").and_then(|line| line.split_once(" <")) {
                functions.extend(address(first).map(|first| (first, without_hash(name).to_owned())));
            } else if let Some((at, text)) = line.split_once(":   ") {
                let text = text.split(" <").next().unwrap_or(text).trim_start().replace('\t', " ");
                instructions.extend(address(at).map(|at| (at, text)));
            }
        }
        Self { functions, instructions }
    }

    /// The function that `address` is in.
    fn function(&self, address: u64) -> &str {
        let inside = self.instructions.last_key_value().is_some_and(|(last, _)| address <= *last);
        let function = self.functions.range(..=address).next_back().filter(|_| inside);
        function.map_or("outside of the program", |(_, name)| name)
    }
}

/// Rust's names end with a hash, behind which LLVM may tell its own.
fn without_hash(name: &str) -> &str {
    match name.rsplit_once("::h") {
        Some((name, hash)) if hash.split(" (").next().is_some_and(|hash| hash.len() == 16) => name,
        _ => name,
    }
}

fn table(spots: &[Spot], listing: &Listing) -> String {
    let total = spots.iter().map(|spot| spot.cycles).sum::<u64>().max(1) as f64;
    let mut functions: BTreeMap<&str, Vec<&Spot>> = BTreeMap::new();
    for spot in spots {
        functions.entry(listing.function(spot.address)).or_default().push(spot);
    }
    let cycles = |spots: &[&Spot]| spots.iter().map(|spot| spot.cycles).sum::<u64>();
    let mut functions: Vec<(&str, Vec<&Spot>)> = functions.into_iter().collect();
    functions.sort_by_key(|(_, spots)| std::cmp::Reverse(cycles(spots)));
    let mut text = String::new();
    for (name, spots) in functions.iter().take(FUNCTIONS) {
        text += &format!("\n{:5.1} % {:>9}  {name}\n", 100.0 * cycles(spots) as f64 / total, cycles(spots));
        for spot in spots.iter().filter(|spot| spot.cycles as f64 >= SHARE * total) {
            let waits =
                spot.waits.iter().map(|(name, cycles)| format!("{name} {:.1}", *cycles as f64 / spot.times as f64));
            let insn = listing.instructions.get(&spot.address).map_or("", String::as_str);
            text += &format!(
                "{:5.1} % {:>9} times {:>8x}: {insn:34} {}\n",
                100.0 * spot.cycles as f64 / total,
                spot.times,
                spot.address,
                waits.collect::<Vec<_>>().join(", ")
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTING: &str = "\n0000000000000a0c <kernels::run::h0123456789abcdef (.llvm.42)>:\n     a0c:      \taddi\tsp, sp, -0x10\n     a10:      \tret\n\n\
                           0000000000000a14 <other>:\n     a14:      \tj\t0xa10 <kernels::run::h0123456789abcdef+0x4>\n";

    #[test]
    fn cycles_are_shown_by_function_and_instruction() {
        let spots: Vec<Spot> = [
            "0x1a0c times=2 latency=6 issue=2",
            "0x1a10 times=2",
            "0x1a14 times=1 branch=24",
            "0x2000 times=1 issue=8",
        ]
        .iter()
        .map(|line| spot(line, 0x1000).unwrap())
        .collect();
        assert_eq!((spots[0].address, spots[0].times, spots[0].cycles), (0xa0c, 2, 8));
        let text = table(&spots, &Listing::of(LISTING));
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].contains("60.0 %") && lines[1].ends_with("other"), "{text}");
        assert!(lines[2].contains("60.0 %") && lines[2].contains("a14: j 0xa10 ") && lines[2].ends_with("branch 24.0"));
        assert!(lines[4].contains("20.0 %") && lines[4].ends_with("kernels::run"), "{text}");
        assert!(lines[5].contains("addi sp, sp, -0x10") && lines[5].ends_with("latency 3.0, issue 1.0"), "{text}");
        assert!(lines[7].contains("20.0 %") && lines[7].ends_with("outside of the program"), "{text}");
        assert!(spot("a0c times=1", 0).is_err() && spot("0xa0c times=x", 0).is_err());
    }
}
