//! From word to instruction (specification, chapter 8).

use crate::insn::{Element, Instruction, Operation, PackKind, Signs};
use crate::trap::Trap;

/// Major opcode custom-1, bits 6 to 0 of every matrix instruction.
pub(crate) const OPCODE: u32 = 0x2b;

/// The instruction with the encoding `word`; [`Trap::Reserved`] when there is none.
pub fn decode(word: u32) -> Result<Instruction, Trap> {
    let reserved = Trap::Reserved { word };
    if word & 0x7f != OPCODE {
        return Err(reserved);
    }
    let field = |low: u32, width: u32| (word >> low & ((1 << width) - 1)) as u8;
    let plain = |operation| Instruction { operation, vd: field(7, 5), vs1: field(15, 5), vs2: field(20, 5) };
    if field(31, 1) == 0 {
        return pack(field(25, 6), field(14, 1), field(12, 2)).map(plain).ok_or(reserved);
    }
    let element = match field(29, 2) {
        0 if field(25, 4) == 0b1111 && field(14, 1) == 1 => {
            return Ok(plain(Operation::FloatDot { slide: field(12, 2) }));
        }
        2 => Element::I4,
        3 => Element::I8,
        _ => return Err(reserved),
    };
    let signs = Signs::ALL[field(12, 2) as usize];
    let (high, low) = (field(14, 1), field(15, 1));
    match field(26, 3) {
        0b000 if field(25, 1) == 1 && high == 0 => Ok(plain(Operation::Dot { element, signs })),
        0b001 if field(25, 1) == 1 && element == Element::I8 => {
            let slide = 1 + high + 2 * low;
            let even = Instruction { vs1: field(15, 5) & !1, ..plain(Operation::SlidingDot { slide, signs }) };
            if slide <= 3 { Ok(even) } else { Err(reserved) }
        }
        0b010 if high == 0 => {
            let segment = field(7, 1) + 2 * low;
            let operation = Operation::SparseDot { element, signs, mask: field(25, 1), segment };
            let registers = plain(operation);
            Ok(Instruction { vd: registers.vd & !1, vs1: registers.vs1 & !1, ..registers })
        }
        scaled => {
            let signs = match scaled {
                0b011 => Signs::UU,
                0b110 => Signs::US,
                0b101 => Signs::SU,
                0b100 => Signs::SS,
                _ => return Err(reserved),
            };
            Ok(plain(Operation::ScaledDot { element, signs, scale: field(25, 1), group: field(12, 3) }))
        }
    }
}

/// The pack instruction with bits 30 to 25 `function`, bit 14 `variant` and bits 13 and 12 `size`.
fn pack(function: u8, variant: u8, size: u8) -> Option<Operation> {
    let kind = match (function, variant) {
        (0b110011, 0) => PackKind::Pack,
        (0b110011, _) => PackKind::Unpack,
        (0b110001, 0) => PackKind::Narrow,
        (0b110001, _) => PackKind::NarrowSaturate,
        (0b100001, 0) => PackKind::Narrow4,
        (0b100001, _) => PackKind::NarrowSaturate4,
        _ => return None,
    };
    Some(Operation::Pack { kind, size })
}
