//! Illegal forms trap and change nothing.

use ime::{Control, Core, Element, Instruction, Operation, PackKind, Signs, Trap, VRegs, VType, execute};

const DOT8: Operation = Operation::Dot { element: Element::I8, signs: Signs::SS };
const DOT4: Operation = Operation::Dot { element: Element::I4, signs: Signs::SS };
const SLIDE: Operation = Operation::SlidingDot { slide: 1, signs: Signs::SS };
const SPARSE: Operation = Operation::SparseDot { element: Element::I8, signs: Signs::SS, mask: 0, segment: 0 };
const SCALED: Operation = Operation::ScaledDot { element: Element::I8, signs: Signs::SS, scale: 1, group: 0 };
const FLOAT: Operation = Operation::FloatDot { slide: 0 };
const FLOAT_SLIDE: Operation = Operation::FloatDot { slide: 2 };
const PACK: Operation = Operation::Pack { kind: PackKind::Pack, size: 0 };
const NARROW: Operation = Operation::Pack { kind: PackKind::Narrow, size: 0 };

/// What `core` makes of the instruction, after checking that an illegal one changes no register.
fn run(core: Core, vtype: VType, operation: Operation, [vd, vs1, vs2]: [u8; 3]) -> Result<(), Trap> {
    let before: Vec<u8> = (0..32 * core.vlenb()).map(|i| (i * 7 + i / 13) as u8).collect();
    let mut after = before.clone();
    let control = Control { vtype, bf16: false };
    let instruction = Instruction { operation, vd, vs1, vs2 };
    let result = execute(core, control, instruction, &mut VRegs::new(core, &mut after));
    assert!(result.is_ok() || before == after, "{instruction} changed registers");
    result
}

#[test]
fn operands_that_overlap_or_start_odd_trap() {
    let overlap = |register| Err(Trap::Overlap { register });
    let parameter = |register| Err(Trap::ParameterOverlap { register });
    for (operation, registers, expected) in [
        (DOT8, [16, 2, 4], Ok(())),
        (DOT8, [30, 2, 2], Ok(())),
        (DOT8, [17, 2, 4], Err(Trap::OddDestination { vd: 17 })),
        (DOT8, [16, 16, 4], overlap(16)),
        (DOT8, [16, 4, 17], overlap(17)),
        (DOT8, [16, 15, 18], Ok(())),
        (SLIDE, [16, 30, 4], Ok(())),
        (SLIDE, [16, 3, 4], Err(Trap::OddSource { vs1: 3 })),
        (SLIDE, [15, 2, 4], Err(Trap::OddDestination { vd: 15 })),
        (SLIDE, [2, 2, 4], overlap(2)),
        (SPARSE, [16, 2, 4], Ok(())),
        (SPARSE, [2, 4, 2], overlap(2)),
        (SPARSE, [0, 2, 4], parameter(0)),
        (SPARSE, [16, 0, 4], parameter(0)),
        (SPARSE, [16, 2, 0], parameter(0)),
        (SCALED, [17, 2, 4], Ok(())),
        (SCALED, [2, 2, 4], overlap(2)),
        (SCALED, [1, 2, 4], parameter(1)),
        (SCALED, [16, 1, 4], parameter(1)),
        (SCALED, [16, 2, 1], parameter(1)),
        (SCALED, [16, 0, 0], Ok(())),
        (FLOAT, [16, 3, 5], Ok(())),
        (FLOAT, [17, 3, 5], Err(Trap::OddDestination { vd: 17 })),
        (FLOAT_SLIDE, [16, 3, 5], Err(Trap::OddSource { vs1: 3 })),
        (FLOAT_SLIDE, [4, 2, 5], overlap(5)),
        (PACK, [16, 3, 5], Ok(())),
        (PACK, [17, 3, 5], Err(Trap::OddDestination { vd: 17 })),
        (PACK, [2, 3, 5], overlap(3)),
        (NARROW, [17, 3, 5], Ok(())),
        (NARROW, [3, 3, 5], overlap(3)),
    ] {
        assert_eq!(run(Core::A100, VType::m1(8), operation, registers), expected, "{operation:?} {registers:?}");
    }
}

#[test]
fn only_lmul_1_is_legal() {
    for operation in [DOT8, SLIDE, SPARSE, SCALED, FLOAT, PACK, NARROW] {
        for sew in [8, 16, 32] {
            let legal = run(Core::A100, VType::m1(sew), operation, [16, 2, 4]);
            assert!(!matches!(legal, Err(Trap::VectorType { .. })), "{operation:?} {sew}");
            for illegal in (1..8).map(|lmul| VType::m1(sew).0 | lmul).chain([1 << 63]) {
                let trap = Trap::VectorType { vtype: illegal };
                assert_eq!(run(Core::A100, VType(illegal), operation, [16, 2, 4]), Err(trap));
            }
        }
    }
}

#[test]
fn a_core_without_ime2_has_only_the_8_bit_products() {
    for operation in [DOT4, SPARSE, SCALED, FLOAT, FLOAT_SLIDE, PACK, NARROW] {
        let trap = Trap::Unsupported { mnemonic: operation.mnemonic() };
        assert_eq!(run(Core::A60, VType::m1(8), operation, [16, 2, 4]), Err(trap));
        assert_eq!(run(Core::A100, VType::m1(8), operation, [16, 2, 4]), Ok(()));
    }
    for operation in [DOT8, SLIDE] {
        assert_eq!(run(Core::A60, VType::m1(8), operation, [16, 2, 4]), Ok(()));
    }
}

#[test]
fn immediates_select_what_exists() {
    let run_at = |core, sew, operation| run(core, VType::m1(sew), operation, [16, 2, 4]);
    let small = Core::new(2, true);
    for segment in 0..4 {
        let sparse = |element| Operation::SparseDot { element, signs: Signs::SS, mask: 0, segment };
        let beyond = if segment > 1 { Err(Trap::OutOfRange { immediate: segment }) } else { Ok(()) };
        assert_eq!(run_at(Core::A100, 8, sparse(Element::I8)), Ok(()));
        assert_eq!(run_at(Core::A100, 8, sparse(Element::I4)), beyond);
    }
    for group in 0..8 {
        let scaled = Operation::ScaledDot { element: Element::I8, signs: Signs::SS, scale: 0, group };
        let beyond = if group > 3 { Err(Trap::OutOfRange { immediate: group }) } else { Ok(()) };
        assert_eq!(run_at(Core::A100, 8, scaled), Ok(()));
        assert_eq!(run_at(small, 8, scaled), beyond);
    }
    let pack = |kind, size| Operation::Pack { kind, size };
    assert_eq!(run_at(small, 8, pack(PackKind::Pack, 2)), Ok(()));
    assert_eq!(run_at(small, 8, pack(PackKind::Pack, 3)), Err(Trap::OutOfRange { immediate: 3 }));
    for (sew, size, legal) in [(8, 0, true), (16, 0, true), (32, 0, false), (32, 1, true), (64, 3, false)] {
        let expected = if legal { Ok(()) } else { Err(Trap::ElementWidth { bits: sew as usize }) };
        assert_eq!(run_at(Core::A100, sew, pack(PackKind::Narrow, size)), expected);
        assert_eq!(run_at(Core::A100, sew, pack(PackKind::Narrow4, size)), Ok(()));
    }
}
