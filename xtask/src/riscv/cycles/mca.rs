//! The loops of K1's vector kernels by LLVM's own model of the core, beside ours.

use std::fs;
use std::process::Command;

use cycles::core::Core;
use cycles::decode::decode;
use cycles::insn::VType;
use cycles::machine::{Machine, Placed};

use crate::riscv::counts::{code, loops, trace};
use crate::riscv::cross::Emulation;
use crate::riscv::{apt, directory, qemu};
use crate::{Result, process};

const PROGRAMS: [(&str, &str); 2] = [("llvm-mca-22", "llvm-22"), ("llvm-mc-22", "llvm-22")];
const CPU: &str = "-mcpu=spacemit-x60";
/// Rounds of which the cycles are compared, so that the first ones do not count.
const ROUNDS: [usize; 2] = [100, 300];

/// Cycles that a round of a kernel's longest-running loop takes, with everything in the first cache.
pub struct Row {
    pub kernel: String,
    pub llvm: f64,
    pub model: f64,
}

/// One row for each kernel whose loop sets no vector type and has no matrix instruction, of which LLVM knows no time.
pub fn rows(emulation: &Emulation) -> Result<Vec<Row>> {
    if let Err(missing) = apt::install_missing(&PROGRAMS) {
        println!("NOT RUN: llvm-mca, because {missing}");
        return Ok(Vec::new());
    }
    let program = emulation.toolchain.example("kernels", "marked", "dev")?;
    let code = code::Code::of(&program)?;
    let calls = trace::calls(emulation, qemu::K1, &emulation.toolchain.emulator()?, &program, &code)?;
    let mut rows: Vec<Row> = Vec::new();
    // Of the calls of a kernel the last is of the largest block.
    for call in calls.into_iter().rev() {
        let loops = loops::innermost(&call.executed, &code);
        let Some(hottest) = loops.first() else { continue };
        let is_told = rows.iter().any(|row| row.kernel == call.kernel);
        let has = |is: fn(u32) -> bool| hottest.words.iter().any(|word| is(*word));
        let is_plain = has(code::is_vector_arithmetic) && !has(code::is_matrix) && !has(code::is_vset);
        let Some(vtype) = vtype(&call.executed, hottest.start, &code).filter(|_| is_plain && !is_told) else {
            continue;
        };
        let (llvm, model) = (by_llvm(&hottest.words, vtype)?, by_model(hottest, vtype));
        rows.push(Row { kernel: call.kernel, llvm, model });
    }
    rows.reverse();
    Ok(rows)
}

/// The vector type that the last `vsetvli` before `start` sets.
fn vtype(executed: &[u64], start: u64, code: &code::Code) -> Option<VType> {
    let before = executed.iter().take_while(|address| **address != start);
    let word = before.filter_map(|address| code.words.get(address)).filter(|word| code::is_vset(**word)).last()?;
    match word >> 30 {
        0b10 => None,
        0b11 => Some(VType(u64::from(word >> 20 & 0x3ff))),
        _ => Some(VType(u64::from(word >> 20 & 0x7ff))),
    }
}

fn by_model(one: &loops::Loop, vtype: VType) -> f64 {
    let cycles = |rounds: usize| {
        let mut machine = Machine::new(&Core::named("x60", cycles::core::Options::default()).expect("a known core"));
        machine.begin(vtype);
        for _ in 0..rounds {
            let mut pc = one.start;
            for &word in &one.words {
                let bytes = if word & 3 == 3 { 4 } else { 2 };
                machine.execute(Placed { pc, bytes, insn: decode(word) });
                pc += bytes;
            }
        }
        machine.end();
        machine.regions[0].cycles as f64
    };
    per_round(ROUNDS.map(cycles))
}

fn by_llvm(words: &[u32], vtype: VType) -> Result<f64> {
    let mut bytes = String::new();
    for word in words {
        let all = word.to_le_bytes();
        bytes.extend(all[..if word & 3 == 3 { 4 } else { 2 }].iter().map(|byte| format!("{byte:#x} ")));
        bytes.push('\n');
    }
    let code = filter(Command::new(PROGRAMS[1].0).args(["--disassemble", "--triple=riscv64", CPU]), &bytes)?;
    let types = format!("# LLVM-MCA-RISCV-LMUL {}\n# LLVM-MCA-RISCV-SEW E{}\n", lmul(vtype), 8 << vtype.sew());
    let cycles = |rounds: usize| {
        let mut mca = Command::new(PROGRAMS[0].0);
        // It has no time for a prefetch.
        mca.args(["-mtriple=riscv64", CPU, "-skip-unsupported-instructions=lack-sched"]);
        let printed = filter(mca.arg(format!("-iterations={rounds}")), &(types.clone() + &code))?;
        let total = printed.lines().find_map(|line| line.strip_prefix("Total Cycles:")?.trim().parse::<f64>().ok());
        total.ok_or_else(|| format!("llvm-mca does not tell the cycles: {printed}"))
    };
    Ok(per_round([cycles(ROUNDS[0])?, cycles(ROUNDS[1])?]))
}

fn lmul(vtype: VType) -> String {
    let log = vtype.lmul();
    if log < 0 { format!("MF{}", 1 << -log) } else { format!("M{}", 1 << log) }
}

fn per_round([few, many]: [f64; 2]) -> f64 {
    (many - few) / (ROUNDS[1] - ROUNDS[0]) as f64
}

/// What `command` makes of a file with `text`.
fn filter(command: &mut Command, text: &str) -> Result<String> {
    let file = directory().join("loop");
    fs::write(&file, text).map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    process::output(command.arg(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    // vle32.v v8, (a3); vfmacc.vv v12, v8, v8; addi a0, a0, -1; c.bnez a0
    const WORDS: [u32; 4] = [0x0206_e407, 0xb284_1657, 0xfff5_0513, 0xf96d];

    #[test]
    fn the_last_type_before_a_loop_counts() {
        // vsetvli a7, zero, e8, m8; vsetvli zero, a0, e32, m2; vsetvl
        let words = [0x0c30_78d7, 0x0d15_7057, WORDS[0], 0x0c30_78d7, 0x80b5_78d7, WORDS[0]];
        let code = code::Code { entry: 0, words: (0..).step_by(4).zip(words).collect() };
        let executed: Vec<u64> = (0..24).step_by(4).collect();
        let found = vtype(&executed, 8, &code).unwrap();
        assert_eq!((found.sew(), lmul(found)), (2, "M2".to_owned()));
        assert!(vtype(&executed, 20, &code).is_none(), "a register has the type");
        assert_eq!(lmul(VType(0b110)), "MF4");
    }

    #[test]
    fn rounds_of_a_loop_are_charged() {
        let one = loops::Loop { start: 0x1000, rounds: 1, words: WORDS.to_vec() };
        // The products of a register are a chain, of five cycles each.
        assert_eq!(by_model(&one, VType(0b01_0000)), 5.0);
    }
}
