use super::*;
use crate::insn::{Class, Count, F, V, VType};

/// First registers that an instruction reads and writes.
fn registers(word: u32) -> (Class, Option<u8>, Vec<u8>) {
    let insn = decode(word);
    (insn.class, insn.writes.map(|one| one.first), insn.reads.iter().flatten().map(|one| one.first).collect())
}

#[test]
fn scalar_instructions() {
    // As the assembler encodes them.
    assert_eq!(registers(0x00b5_0533), (Class::Alu, Some(10), vec![10, 11])); // add a0, a0, a1
    assert_eq!(registers(0x02b5_0533), (Class::Mul, Some(10), vec![10, 11])); // mul a0, a0, a1
    assert_eq!(registers(0x20b5_2533), (Class::ShiftAdd, Some(10), vec![10, 11])); // sh1add a0, a0, a1
    assert_eq!(registers(0x0005_b503), (Class::Load, Some(10), vec![11])); // ld a0, 0(a1)
    assert_eq!(registers(0x00a5_b023), (Class::Store, None, vec![11, 10])); // sd a0, 0(a1)
    assert_eq!(registers(0x0005_2507), (Class::Load, Some(F + 10), vec![10])); // flw fa0, 0(a0)
    assert_eq!(registers(0x00b5_7543), (Class::FMa, Some(F + 10), vec![F + 10, F + 11, F])); // fmadd.s fa0, fa0, fa1, ft0
    assert_eq!(registers(0xfe05_1ee3), (Class::Branch, None, vec![10])); // bnez a0
    assert_eq!(registers(0x0415_6013), (Class::Prefetch, None, vec![10])); // prefetch.r 64(a0)
    assert_eq!(registers(0x0045_200f), (Class::Zero, None, vec![10])); // cbo.zero (a0)
    assert_eq!(registers(0x1141), (Class::Alu, Some(2), vec![2])); // c.addi sp, -16
}

#[test]
fn vector_instructions() {
    assert_eq!(registers(0x0c00_78d7), (Class::VSet, Some(17), vec![])); // vsetvli a7, zero, e8, m1, ta, ma
    assert_eq!(registers(0x0206_e407), (Class::VLoad, Some(V + 8), vec![13])); // vle32.v v8, (a3)
    assert_eq!(registers(0x0206_e427), (Class::VStore, None, vec![13, V + 8])); // vse32.v v8, (a3)
    assert_eq!(registers(0xb285_1457), (Class::VFMa, Some(V + 8), vec![V + 8, V + 10, V + 8])); // vfmacc.vv v8, v10, v8
    assert_eq!(registers(0xb285_5457), (Class::VFMa, Some(V + 8), vec![V + 8, F + 10, V + 8])); // vfmacc.vf v8, fa0, v8
    assert_eq!(registers(0xf685_6457), (Class::VWiden, Some(V + 8), vec![V + 8, 10, V + 8])); // vwmacc.vx v8, a0, v8
    let whole = decode(0xe285_0407); // vl8re8.v v8, (a0)
    assert_eq!((whole.class, whole.width), (Class::VLoad, Count::Fixed(8)));
    let strided = decode(0x0ab5_6407); // vlse32.v v8, (a0), a1
    assert_eq!((strided.class, strided.reads.iter().flatten().count()), (Class::VLoadStrided, 2));
    let narrow = decode(0xb280_3857); // vnsrl.wi v16, v8, 0
    assert_eq!((narrow.class, narrow.reads[0].unwrap().count), (Class::VNarrow, Count::Lmul(1)));
}

#[test]
fn matrix_instructions() {
    // smt.vmadot v16, v0, v4; its i4 form; sp; hp; vfwmadot; vpack.
    assert_eq!(registers(0xe240_382b), (Class::Dot, Some(V + 16), vec![V + 16, V, V + 4]));
    assert_eq!(registers(0xc240_382b).0, Class::Dot);
    assert_eq!(registers(0xe841_38ab), (Class::DotSparse, Some(V + 16), vec![V + 16, V + 2, V + 4, V]));
    assert_eq!(registers(0xf041_182b), (Class::DotScaled, Some(V + 16), vec![V + 16, V + 2, V + 4, V]));
    assert_eq!(registers(0x9e41_482b), (Class::DotFloat, Some(V + 16), vec![V + 16, V + 2, V + 4]));
    assert_eq!(registers(0x6641_082b), (Class::Pack, Some(V + 16), vec![V + 2, V + 4]));
    assert_eq!(registers(0x6241_082b).0, Class::PackNarrow);
    let sum = decode(0xe240_382b).writes.unwrap();
    assert_eq!(VType(0).registers(sum.count), 2);
}

#[test]
fn operands_follow_the_vector_type() {
    // e32, m2: widened results take four registers, bytes half of one.
    let e32m2 = VType(0b01_0001);
    let counts = [Count::Lmul(0), Count::Lmul(1), Count::Element(0), Count::Element(3), Count::Fixed(8)];
    assert_eq!(counts.map(|count| e32m2.registers(count)), [2, 4, 1, 4, 8]);
    let e8mf2 = VType(0b111);
    assert_eq!((e8mf2.lmul(), e8mf2.registers(Count::Lmul(0)), e8mf2.log_registers(Count::Lmul(0))), (-1, 1, -1));
}
