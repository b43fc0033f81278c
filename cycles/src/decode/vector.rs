//! The V extension, with Zvfh and Zvbb.

use super::{Fields, f, x};
use crate::insn::{Class, Count, Insn, Operand};

const GROUP: Count = Count::Lmul(0);
const WIDE: Count = Count::Lmul(1);
const ONE: Count = Count::Fixed(1);

/// What an instruction does with its operands, by bits 31 to 26.
struct Shape {
    class: Class,
    /// Widths of vd, vs2 and vs1.
    vd: Count,
    vs2: Count,
    vs1: Count,
    /// Whether vd is read, too.
    adds: bool,
}

impl Shape {
    const fn new(class: Class) -> Self {
        Self { class, vd: GROUP, vs2: GROUP, vs1: GROUP, adds: false }
    }

    const fn adding(self) -> Self {
        Self { adds: true, ..self }
    }

    const fn to(self, vd: Count) -> Self {
        Self { vd, ..self }
    }

    const fn from(self, vs2: Count) -> Self {
        Self { vs2, ..self }
    }

    const fn and(self, vs1: Count) -> Self {
        Self { vs1, ..self }
    }
}

/// Opcode OP-V.
pub(super) fn arithmetic(fields: Fields) -> Insn {
    let funct6 = fields.bits(31, 26);
    let mask = if fields.bits(25, 25) == 0 { Some(Operand::v(0, ONE)) } else { None };
    match fields.funct3() {
        7 => set_length(fields),
        // Moves of whole registers.
        3 if funct6 == 0x27 => {
            let count = Count::Fixed((fields.rs1() + 1) as u8);
            let (vd, vs2) = (Operand::v(fields.rd(), count), Operand::v(fields.rs2(), count));
            Insn { width: count, ..Insn::new(Class::VLogic, Some(vd), [Some(vs2), None, None, None]) }
        }
        kind @ (0 | 3 | 4) => build(fields, integer(funct6, kind == 0), mask),
        kind @ (2 | 6) => multiply_or_unary(fields, funct6, kind, mask),
        _ => float_or_unary(fields, funct6, mask),
    }
}

fn set_length(fields: Fields) -> Insn {
    // Bits 31 and 30: vsetvli has 0x, vsetivli 11, vsetvl 10.
    let rs1 = if fields.bits(31, 30) == 3 { None } else { x(fields.rs1()) };
    let rs2 = if fields.bits(31, 30) == 2 { x(fields.rs2()) } else { None };
    Insn::new(Class::VSet, x(fields.rd()), [rs1, rs2, None, None])
}

fn build(fields: Fields, shape: Shape, mask: Option<Operand>) -> Insn {
    let vd = Operand::v(fields.rd(), shape.vd);
    let first = match fields.funct3() {
        0..=2 => Some(Operand::v(fields.rs1(), shape.vs1)),
        3 => None,
        5 => f(fields.rs1()),
        _ => x(fields.rs1()),
    };
    let added = if shape.adds { Some(vd) } else { None };
    Insn::new(shape.class, Some(vd), [Some(Operand::v(fields.rs2(), shape.vs2)), first, added, mask])
}

fn integer(funct6: u32, is_vector: bool) -> Shape {
    match funct6 {
        0x0c => Shape::new(Class::VGather),
        0x0e if is_vector => Shape::new(Class::VGather).and(Count::Element(1)),
        0x0e | 0x0f => Shape::new(Class::VSlide),
        0x11 | 0x13 | 0x18..=0x1f => Shape::new(Class::VCompare).to(ONE),
        0x00..=0x07 | 0x10 | 0x12 | 0x20..=0x23 => Shape::new(Class::VAdd),
        0x27 => Shape::new(Class::VMul),
        0x2c..=0x2f => Shape::new(Class::VNarrow).from(WIDE),
        0x30 | 0x31 => Shape::new(Class::VReduce).to(ONE).and(ONE),
        0x35 => Shape::new(Class::VWiden).to(WIDE),
        _ => Shape::new(Class::VLogic),
    }
}

fn multiply_or_unary(fields: Fields, funct6: u32, kind: u32, mask: Option<Operand>) -> Insn {
    let v = |number, count| Some(Operand::v(number, count));
    let shape = match funct6 {
        0x10 if kind == 6 => {
            return Insn::new(Class::FromScalar, v(fields.rd(), ONE), [x(fields.rs1()), None, None, None]);
        }
        // vmv.x.s, vcpop, vfirst.
        0x10 => return Insn::new(Class::VToScalar, x(fields.rd()), [v(fields.rs2(), ONE), mask, None, None]),
        // Extensions by 8, 4, 2; others keep the width.
        0x12 => {
            let part = match fields.rs1() {
                2 | 3 => Count::Lmul(-3),
                4 | 5 => Count::Lmul(-2),
                6 | 7 => Count::Lmul(-1),
                _ => GROUP,
            };
            return Insn::new(Class::VLogic, v(fields.rd(), GROUP), [v(fields.rs2(), part), mask, None, None]);
        }
        // vmsbf and its like, viota, vid.
        0x14 if fields.rs1() < 16 => {
            return Insn::new(Class::VMask, v(fields.rd(), ONE), [v(fields.rs2(), ONE), mask, None, None]);
        }
        0x14 if fields.rs1() == 17 => return Insn::new(Class::VLogic, v(fields.rd(), GROUP), [mask, None, None, None]),
        0x14 => return Insn::new(Class::VLogic, v(fields.rd(), GROUP), [v(fields.rs2(), ONE), mask, None, None]),
        0x00..=0x07 => Shape::new(Class::VReduce).to(ONE).and(ONE),
        0x0e | 0x0f => Shape::new(Class::VSlide),
        0x17 => Shape::new(Class::VCompress).and(ONE),
        0x18..=0x1f => Shape { class: Class::VMask, vd: ONE, vs2: ONE, vs1: ONE, adds: false },
        0x20..=0x23 => Shape::new(Class::VDiv),
        0x24..=0x27 => Shape::new(Class::VMul),
        0x29 | 0x2b | 0x2d | 0x2f => Shape::new(Class::VMul).adding(),
        0x34..=0x37 => Shape::new(Class::VWiden).to(WIDE).from(WIDE),
        0x30..=0x33 | 0x38..=0x3b => Shape::new(Class::VWiden).to(WIDE),
        0x3c..=0x3f => Shape::new(Class::VWiden).to(WIDE).adding(),
        _ => Shape::new(Class::VAdd),
    };
    build(fields, shape, mask)
}

fn float_or_unary(fields: Fields, funct6: u32, mask: Option<Operand>) -> Insn {
    let v = |number, count| Some(Operand::v(number, count));
    let unary = |class, vd, vs2| Insn::new(class, v(fields.rd(), vd), [v(fields.rs2(), vs2), mask, None, None]);
    let shape = match funct6 {
        0x10 if fields.funct3() == 5 => {
            return Insn::new(Class::FromScalar, v(fields.rd(), ONE), [f(fields.rs1()), None, None, None]);
        }
        0x10 => return Insn::new(Class::VToScalar, f(fields.rd()), [v(fields.rs2(), ONE), None, None, None]),
        0x12 => {
            return match fields.rs1() {
                0..=7 => unary(Class::VFConvert, GROUP, GROUP),
                8..=15 => unary(Class::VFWiden, WIDE, GROUP),
                _ => unary(Class::VNarrow, GROUP, WIDE),
            };
        }
        0x13 if fields.rs1() == 0 => return unary(Class::VFSqrt, GROUP, GROUP),
        0x13 => return unary(Class::VFConvert, GROUP, GROUP),
        0x01 | 0x05 | 0x07 | 0x31 => Shape::new(Class::VFReduce).to(ONE).and(ONE),
        0x03 | 0x33 => Shape::new(Class::VFSum).to(ONE).and(ONE),
        0x0e | 0x0f => Shape::new(Class::VSlide),
        0x17 => Shape::new(Class::VLogic),
        0x18..=0x1f => Shape::new(Class::VCompare).to(ONE),
        0x20 | 0x21 => Shape::new(Class::VFDiv),
        0x28..=0x2f => Shape::new(Class::VFMa).adding(),
        0x34 | 0x36 => Shape::new(Class::VFWiden).to(WIDE).from(WIDE),
        0x30 | 0x32 | 0x38 => Shape::new(Class::VFWiden).to(WIDE),
        0x3c..=0x3f => Shape::new(Class::VFWiden).to(WIDE).adding(),
        _ => Shape::new(Class::VFAdd),
    };
    build(fields, shape, mask)
}

/// Opcodes LOAD-FP and STORE-FP with a width of vectors.
pub(super) fn memory(fields: Fields) -> Insn {
    let is_store = fields.0 & 0x20 != 0;
    let element = Count::Element(if fields.funct3() == 0 { 0 } else { fields.funct3() as u8 - 4 });
    let (mode, nf) = (fields.bits(27, 26), fields.bits(31, 29) as u8 + 1);
    let is_whole = mode == 0 && fields.rs2() == 8;
    let is_mask = mode == 0 && fields.rs2() == 11;
    let width = match mode {
        0 if is_whole => Count::Fixed(nf),
        0 if is_mask => ONE,
        1 | 3 => GROUP,
        _ => element,
    };
    let fields_of_segment = if is_whole { 1 } else { nf };
    use Class::*;
    let class = match (mode, fields_of_segment) {
        (_, 2..) => [VLoadSegment, VStoreSegment],
        (0, _) => [VLoad, VStore],
        (2, _) => [VLoadStrided, VStoreStrided],
        _ => [VLoadIndexed, VStoreIndexed],
    }[usize::from(is_store)];
    let data = Operand::v(fields.rd(), width);
    let second = match mode {
        0 => None,
        2 => x(fields.rs2()),
        _ => Some(Operand::v(fields.rs2(), element)),
    };
    let mask = if fields.bits(25, 25) == 0 { Some(Operand::v(0, ONE)) } else { None };
    let (writes, stored) = if is_store { (None, Some(data)) } else { (Some(data), None) };
    let insn = Insn::new(class, writes, [x(fields.rs1()), second, stored, mask]);
    Insn { width, fields: fields_of_segment, ..insn }
}
