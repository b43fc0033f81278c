//! From instruction to word (specification, chapter 8).

use crate::decode::OPCODE;
use crate::insn::{Element, Instruction, Operation, PackKind, Signs};

impl Instruction {
    /// The instruction's word, for `.4byte`. Fields out of range are cut to their width, and the low bits of
    /// registers that must be even are lost where the encoding uses them otherwise.
    pub const fn encode(self) -> u32 {
        let Instruction { operation, vd, vs1, vs2 } = self;
        let registers = (vs2 as u32 & 31) << 20 | (vs1 as u32 & 31) << 15 | (vd as u32 & 31) << 7 | OPCODE;
        registers & !self.reused_bits()
            | match operation {
                Operation::Dot { element, signs } => integer(element, 0b000, 1) | (signs as u32) << 12,
                Operation::SlidingDot { slide, signs } => {
                    integer(Element::I8, 0b001, 1) | ((slide as u32 - 1) & 3) << 14 | (signs as u32) << 12
                }
                Operation::SparseDot { element, signs, mask, segment } => {
                    let segment = (segment as u32 >> 1 & 1) << 15 | (segment as u32 & 1) << 7;
                    integer(element, 0b010, mask) | segment | (signs as u32) << 12
                }
                Operation::ScaledDot { element, signs, scale, group } => {
                    let function = match signs {
                        Signs::UU => 0b011,
                        Signs::US => 0b110,
                        Signs::SU => 0b101,
                        Signs::SS => 0b100,
                    };
                    integer(element, function, scale) | (group as u32 & 7) << 12
                }
                Operation::FloatDot { slide } => 0b1001111 << 25 | 1 << 14 | (slide as u32 & 3) << 12,
                Operation::Pack { kind, size } => {
                    let (function, variant) = match kind {
                        PackKind::Pack => (0b0110011, 0),
                        PackKind::Unpack => (0b0110011, 1),
                        PackKind::Narrow => (0b0110001, 0),
                        PackKind::NarrowSaturate => (0b0110001, 1),
                        PackKind::Narrow4 => (0b0100001, 0),
                        PackKind::NarrowSaturate4 => (0b0100001, 1),
                    };
                    function << 25 | variant << 14 | (size as u32 & 3) << 12
                }
            }
    }

    /// The lowest bits of register fields that carry something else.
    const fn reused_bits(self) -> u32 {
        match self.operation {
            Operation::SlidingDot { .. } => 1 << 15,
            Operation::SparseDot { .. } => 1 << 15 | 1 << 7,
            _ => 0,
        }
    }
}

/// Bits 31 to 25 of an integer product.
const fn integer(element: Element, function: u32, register: u8) -> u32 {
    1 << 31 | (element as u32) << 29 | function << 26 | (register as u32 & 1) << 25
}
