//! The instructions of a program, read by binutils.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::process::Command;

use crate::{Result, process};

/// Instructions by address, as the file numbers them; compressed ones have their upper half clear.
pub struct Code {
    pub entry: u64,
    pub words: BTreeMap<u64, u32>,
}

impl Code {
    /// Disassembles `program`.
    pub fn of(program: &Path) -> Result<Self> {
        let mut objdump = Command::new("riscv64-linux-gnu-objdump");
        let listing = process::output(objdump.args(["-f", "-d", "-j", ".text"]).arg(program))?;
        Self::parse(&listing).ok_or_else(|| format!("objdump does not list the instructions of {}", program.display()))
    }

    fn parse(listing: &str) -> Option<Self> {
        let entry = listing.lines().find_map(|line| line.strip_prefix("start address 0x"))?;
        let words = listing.lines().filter_map(|line| {
            let (address, rest) = line.trim_start().split_once(":\t")?;
            let word = rest.split_whitespace().next()?;
            Some((u64::from_str_radix(address, 16).ok()?, u32::from_str_radix(word, 16).ok()?))
        });
        Some(Self { entry: u64::from_str_radix(entry.trim(), 16).ok()?, words: words.collect() })
    }

    /// The addresses of all instructions.
    pub fn range(&self) -> Range<u64> {
        let first = self.words.first_key_value().map_or(0, |one| *one.0);
        let end = self.words.last_key_value().map_or(0, |one| *one.0 + 4);
        first..end
    }
}

/// Instructions before and after a measured call: `xori zero, zero, 1` and `xori zero, zero, 2`.
pub const MARKS: [u32; 2] = [0x0010_4013, 0x0020_4013];

fn opcode(word: u32) -> u32 {
    word & 0x7f
}

fn funct3(word: u32) -> u32 {
    word >> 12 & 7
}

/// Custom-1, the opcode of IME1 and IME2.
pub fn is_matrix(word: u32) -> bool {
    opcode(word) == 0x2b
}

/// `vsetvli`, `vsetivli` and `vsetvl`.
pub fn is_vset(word: u32) -> bool {
    opcode(word) == 0x57 && funct3(word) == 7
}

/// OP-V but those.
pub fn is_vector_arithmetic(word: u32) -> bool {
    opcode(word) == 0x57 && funct3(word) != 7
}

/// STORE-FP with a width of vectors.
pub fn is_vector_store(word: u32) -> bool {
    opcode(word) == 0x27 && matches!(funct3(word), 0 | 5..=7)
}

/// Whether the base register of a load or store is the stack pointer.
pub fn is_stack_relative(word: u32) -> bool {
    word >> 15 & 31 == 2
}

/// A branch, or a jump that keeps no return address; also a compressed one.
pub fn is_jump(word: u32) -> bool {
    let compressed = word & 3 == 1 && matches!(word >> 13 & 7, 5..=7);
    opcode(word) == 0x63 || word & 0xfff == 0x06f || compressed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_is_read() {
        let listing = "\nmarked:     file format elf64-littleriscv\nstart address 0x0000000000000a0c\n\n\
                       0000000000000a0c <run>:\n     a0c:\t1141                \tadd\tsp,sp,-16\n     \
                       a0e:\te240382b          \t.4byte\t0xe240382b\n\t...\n";
        let code = Code::parse(listing).unwrap();
        assert_eq!((code.entry, code.range()), (0xa0c, 0xa0c..0xa12));
        assert_eq!(Vec::from_iter(code.words), [(0xa0c, 0x1141), (0xa0e, 0xe240_382b)]);
    }

    #[test]
    fn instructions_are_told_apart() {
        // smt.vmadot v16, v0, v4; vsetvli a7, zero, e8, m1, ta, ma; vs1r.v v8, (sp); vse32.v v8, (a3); bnez a0; c.bnez a0;
        // j .-4; c.j .-2; jal .-4
        let words =
            [0xe240_382b, 0x0c00_78d7, 0x0281_0427, 0x0206_e427, 0xfe05_1ee3, 0xfd75, 0xffdf_f06f, 0xbffd, 0xffdf_f0ef];
        let which = |is: fn(u32) -> bool| (0..words.len()).filter(|at| is(words[*at])).collect::<Vec<_>>();
        assert_eq!(which(is_matrix), [0]);
        assert_eq!(which(is_vset), [1]);
        assert_eq!(which(is_vector_store), [2, 3]);
        assert_eq!(which(is_jump), [4, 5, 6, 7]);
        assert!(is_stack_relative(words[2]) && !is_stack_relative(words[3]));
    }
}
