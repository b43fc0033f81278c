//! From word to instruction: RV64GC with Zba, Zbb, Zfh, Zicbop and Zicboz here, vectors and matrices in their own files. What is not
//! known counts as an addition that reads and writes nothing.

mod matrix;
mod vector;

use crate::compressed;
use crate::insn::{Class, Insn, Operand};

/// Register fields of a word.
#[derive(Clone, Copy)]
struct Fields(u32);

impl Fields {
    const fn bits(self, high: u32, low: u32) -> u32 {
        self.0 >> low & ((1 << (high - low + 1)) - 1)
    }

    const fn rd(self) -> u32 {
        self.bits(11, 7)
    }

    const fn rs1(self) -> u32 {
        self.bits(19, 15)
    }

    const fn rs2(self) -> u32 {
        self.bits(24, 20)
    }

    const fn funct3(self) -> u32 {
        self.bits(14, 12)
    }
}

/// Decodes an instruction, of which `word` may be two bytes.
pub fn decode(word: u32) -> Insn {
    let word = if word & 3 == 3 { word } else { compressed::expand(word as u16) };
    let fields = Fields(word);
    match word & 0x7f {
        0x57 => vector::arithmetic(fields),
        0x07 | 0x27 if matches!(fields.funct3(), 0 | 5..=7) => vector::memory(fields),
        0x2b => matrix::matrix(fields),
        0x43 | 0x47 | 0x4b | 0x4f | 0x53 => float(fields),
        _ => integer(fields),
    }
}

const fn x(number: u32) -> Option<Operand> {
    if number == 0 { None } else { Some(Operand::x(number)) }
}

const fn f(number: u32) -> Option<Operand> {
    Some(Operand::f(number))
}

fn integer(fields: Fields) -> Insn {
    let (rd, rs1, rs2, funct3) = (x(fields.rd()), x(fields.rs1()), x(fields.rs2()), fields.funct3());
    let one = |class| Insn::new(class, rd, [rs1, None, None, None]);
    let two = |class, writes| Insn::new(class, writes, [rs1, rs2, None, None]);
    match fields.0 & 0x7f {
        0x03 => one(Class::Load),
        0x07 => Insn::new(Class::Load, f(fields.rd()), [rs1, None, None, None]),
        0x13 if rd.is_none() && funct3 == 6 && matches!(fields.rs2(), 1 | 3) => one(Class::Prefetch),
        // Shifts with upper bits: Zbb's counts, among others.
        0x13 | 0x1b if funct3 & 3 == 1 && fields.bits(31, 26) & !0x10 != 0 => one(Class::ShiftAdd),
        0x13 | 0x1b => one(Class::Alu),
        0x17 | 0x37 => Insn::new(Class::Alu, rd, [None; 4]),
        0x23 => two(Class::Store, None),
        0x27 => Insn::new(Class::Store, None, [rs1, f(fields.rs2()), None, None]),
        0x2f => two(Class::Atomic, rd),
        0x33 | 0x3b => {
            let class = match (fields.bits(31, 25), funct3) {
                (1, 0..=3) => Class::Mul,
                (1, _) => Class::Div,
                (0x10, _) | (0x05, 1..=3) => Class::ShiftAdd,
                _ => Class::Alu,
            };
            two(class, rd)
        }
        0x63 => two(Class::Branch, None),
        0x67 => one(Class::Jump),
        0x6f => Insn::new(Class::Jump, rd, [None; 4]),
        0x73 => one(Class::System),
        0x0f if rd.is_none() && funct3 == 2 && fields.bits(31, 20) == 4 => one(Class::Zero),
        0x0f => Insn::new(Class::System, None, [None; 4]),
        _ => Insn::new(Class::Alu, None, [None; 4]),
    }
}

fn float(fields: Fields) -> Insn {
    let (fd, fs1, fs2) = (f(fields.rd()), f(fields.rs1()), f(fields.rs2()));
    if fields.0 & 0x7f != 0x53 {
        return Insn::new(Class::FMa, fd, [fs1, fs2, f(fields.bits(31, 27)), None]);
    }
    let (rd, rs1) = (x(fields.rd()), x(fields.rs1()));
    match fields.bits(31, 27) {
        0x00..=0x02 | 0x04 | 0x05 => Insn::new(Class::FAdd, fd, [fs1, fs2, None, None]),
        0x03 => Insn::new(Class::FDiv, fd, [fs1, fs2, None, None]),
        0x0b => Insn::new(Class::FDiv, fd, [fs1, None, None, None]),
        0x14 => Insn::new(Class::FConvert, rd, [fs1, fs2, None, None]),
        0x18 | 0x1c => Insn::new(Class::FConvert, rd, [fs1, None, None, None]),
        0x1a | 0x1e => Insn::new(Class::FConvert, fd, [rs1, None, None, None]),
        _ => Insn::new(Class::FConvert, fd, [fs1, None, None, None]),
    }
}

#[cfg(test)]
mod tests;
