//! SpacemiT's IME1 and IME2 (opcode custom-1), all with LMUL 1.

use super::Fields;
use crate::insn::{Class, Count, Insn, Operand};

const fn register(number: u32) -> Operand {
    Operand::v(number, Count::Fixed(1))
}

/// Two registers from the even one at or below `number` on.
const fn pair(number: u32) -> Operand {
    Operand::v(number & !1, Count::Fixed(2))
}

pub(super) fn matrix(fields: Fields) -> Insn {
    let (vd, vs1, vs2) = (fields.rd(), fields.rs1(), Some(register(fields.rs2())));
    let class = match (fields.bits(31, 31), fields.bits(28, 26)) {
        (0, _) => return pack(fields),
        (_, 0) => Class::Dot,
        (_, 1) => Class::Dot,
        (_, 2) => Class::DotSparse,
        (_, 7) if fields.bits(30, 29) == 0 => Class::DotFloat,
        _ => Class::DotScaled,
    };
    let slides = fields.bits(28, 26) == 1 || class == Class::DotFloat && fields.bits(13, 12) != 0;
    let a = if slides || class == Class::DotSparse { pair(vs1) } else { register(vs1) };
    let c = if class == Class::DotScaled { register(vd) } else { pair(vd) };
    // The register of scales or of the mask.
    let control = match class {
        Class::DotSparse | Class::DotScaled => Some(register(fields.bits(25, 25))),
        _ => None,
    };
    Insn { width: Count::Fixed(1), ..Insn::new(class, Some(c), [Some(c), Some(a), vs2, control]) }
}

fn pack(fields: Fields) -> Insn {
    let narrows = fields.bits(30, 25) != 0b110011;
    let class = match (narrows, fields.bits(14, 14)) {
        (true, _) => Class::PackNarrow,
        (_, 0) => Class::Pack,
        _ => Class::Unpack,
    };
    let vd = if narrows { register(fields.rd()) } else { pair(fields.rd()) };
    let reads = [Some(register(fields.rs1())), Some(register(fields.rs2())), None, None];
    Insn { width: Count::Fixed(1), ..Insn::new(class, Some(vd), reads) }
}
