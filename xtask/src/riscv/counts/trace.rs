//! What QEMU wrote down of a program's execution.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;

use super::code::{Code, MARKS};
use crate::riscv::cross::Emulation;
use crate::riscv::directory;
use crate::{Result, process};

/// A call of a micro-kernel.
pub struct Call {
    /// Family and name.
    pub kernel: String,
    pub shape: String,
    /// Products of two numbers, or numbers, that it is worth.
    pub work: usize,
    /// Addresses of the executed instructions, as the file numbers them.
    pub executed: Vec<u64>,
}

/// Runs `program` on the processor `cpu` and returns the calls that it marks. The emulator is a library of its own, whose
/// instructions are outside the range that is written down.
pub fn calls(emulation: &Emulation, cpu: &str, emulator: &Path, program: &Path, code: &Code) -> Result<Vec<Call>> {
    let printed = process::output(emulation.command(cpu, Some(emulator)).arg(program))?;
    let base = base(&printed, code)?;
    let log = directory().join("trace.log");
    let range = code.range();
    let mut traced = emulation.command(cpu, Some(emulator));
    traced.args(["-one-insn-per-tb", "-d", "exec,nochain", "-D"]).arg(&log);
    traced.args(["-dfilter", &format!("{:#x}..{:#x}", base + range.start, base + range.end)]);
    if process::output(traced.arg(program))? != printed {
        return Err("the program is at another address or does something else when it is traced".into());
    }
    let read = |error| format!("cannot read {}: {error}", log.display());
    let lines = BufReader::new(File::open(&log).map_err(read)?).lines();
    let executed = between_marks(lines.map_while(|line| address(&line.ok()?).map(|at| at.wrapping_sub(base))), code);
    fs::remove_file(&log).map_err(read)?;
    let calls: Vec<&str> = printed.lines().filter_map(|line| line.strip_prefix("call ")).collect();
    if calls.len() != executed.len() {
        return Err(format!("{} calls were marked, and {} printed", executed.len(), calls.len()));
    }
    calls.into_iter().zip(executed).map(|(line, executed)| call(line, executed)).collect()
}

/// What is added to the addresses of the file where the program ran, which `printed` its `entry`.
pub fn base(printed: &str, code: &Code) -> Result<u64> {
    let entry = printed.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("entry 0x")?, 16).ok());
    Ok(entry.ok_or("the program does not tell where it is")?.wrapping_sub(code.entry))
}

/// The address in a line such as `Trace 0: 0x7f34e4000100 [0000/00000000000123a4/0000/ff000201] run`.
fn address(line: &str) -> Option<u64> {
    u64::from_str_radix(line.split('[').nth(1)?.split('/').nth(1)?, 16).ok()
}

/// The addresses between each two marks.
fn between_marks(executed: impl Iterator<Item = u64>, code: &Code) -> Vec<Vec<u64>> {
    let (mut calls, mut open) = (Vec::new(), None::<Vec<u64>>);
    for address in executed {
        match code.words.get(&address) {
            Some(word) if *word == MARKS[0] => open = Some(Vec::new()),
            Some(word) if *word == MARKS[1] => calls.extend(open.take()),
            _ => open.iter_mut().for_each(|call| call.push(address)),
        }
    }
    calls
}

/// Reads `FAMILY NAME SHAPE WORK`.
fn call(line: &str, executed: Vec<u64>) -> Result<Call> {
    let words: Vec<&str> = line.split(' ').collect();
    match words.as_slice() {
        [family, name, shape, work] => {
            let work = work.parse().map_err(|error| format!("{line}: {error}"))?;
            Ok(Call { kernel: format!("{family} {name}"), shape: (*shape).to_owned(), work, executed })
        }
        _ => Err(format!("the program printed a line that is not understood: call {line}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_marks_is_kept() {
        let code = Code { entry: 0, words: [(4, MARKS[0]), (12, MARKS[1]), (8, 0x13)].into() };
        let lines =
            ["[0/0/0/0]", "[0/4/0/0] main", "[0/8/0/0] run", "[0/c/0/0]", "[0/8/0/0]", "[0/4/0/0]", "[0/c/0/0]"];
        let addresses = lines.iter().filter_map(|line| address(&format!("Trace 0: 0x7f00 {line}")));
        assert_eq!(between_marks(addresses, &code), [vec![8], vec![]]);
    }
}
