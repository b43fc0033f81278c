//! Integer operands.

use crate::core::Core;
use crate::insn::{Element, Instruction, Signs};
use crate::regs::VRegs;

/// The most elements of an operand: two registers of 4-bit elements.
const MAX_ELEMENTS: usize = 4 * Core::MAX_VLENB;

/// A and B as numbers: A has rows of `depth` elements one after the other, B columns of `depth` elements.
pub struct Tile {
    pub a: [i16; MAX_ELEMENTS],
    pub b: [i16; MAX_ELEMENTS],
    pub rows: usize,
    pub depth: usize,
}

impl Tile {
    /// Reads A (one register or two) and B.
    pub fn load(core: Core, instruction: Instruction, element: Element, signs: Signs, registers: &VRegs<'_>) -> Tile {
        let depth = core.vlenb() / core.rows() * element.per_byte();
        let mut tile = Tile { a: [0; MAX_ELEMENTS], b: [0; MAX_ELEMENTS], rows: core.rows(), depth };
        let a = registers.group(instruction.vs1, instruction.operation.a_registers());
        widen(a, element, signs.a(), &mut tile.a);
        widen(registers.group(instruction.vs2, 1), element, signs.b(), &mut tile.b);
        tile
    }

    /// Row `i` of A times column `j` of B. No sum of an instruction overflows.
    #[inline(always)] // Under QEMU a call costs as much as the sum.
    pub fn product(&self, i: usize, j: usize) -> i32 {
        let row = &self.a[i * self.depth..][..self.depth];
        let column = &self.b[j * self.depth..][..self.depth];
        row.iter().zip(column).map(|(x, y)| i32::from(*x) * i32::from(*y)).sum()
    }
}

/// Four-bit elements: the low half of a byte comes first.
fn widen(bytes: &[u8], element: Element, signed: bool, elements: &mut [i16]) {
    match element {
        Element::I8 => {
            for (to, &byte) in elements.iter_mut().zip(bytes) {
                *to = if signed { (byte as i8).into() } else { byte.into() };
            }
        }
        Element::I4 => {
            let nibble = |high: u8| if signed { (high as i8 >> 4).into() } else { (high >> 4).into() };
            for (to, &byte) in elements.as_chunks_mut::<2>().0.iter_mut().zip(bytes) {
                *to = [nibble(byte << 4), nibble(byte)];
            }
        }
    }
}
