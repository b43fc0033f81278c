//! What the instructions compute, against loops over element numbers, on random and extreme registers.

mod reference;

use ime::{Control, Core, Element, Instruction, Operation, PackKind, Signs, VRegs, VType, execute};
use reference::{State, reference};

/// Both chips' cores, and IME2 with K1's registers.
const CORES: [Core; 3] = [Core::A60, Core::A100, Core::new(2, true)];

/// Every operation with every immediate.
fn operations() -> Vec<Operation> {
    let mut all = Vec::new();
    for signs in Signs::ALL {
        all.extend((1..4).map(|slide| Operation::SlidingDot { slide, signs }));
        for element in [Element::I4, Element::I8] {
            all.push(Operation::Dot { element, signs });
            for register in [0, 1] {
                all.extend((0..4).map(|segment| Operation::SparseDot { element, signs, mask: register, segment }));
                all.extend((0..8).map(|group| Operation::ScaledDot { element, signs, scale: register, group }));
            }
        }
    }
    all.extend((0..4).map(|slide| Operation::FloatDot { slide }));
    for kind in PackKind::ALL {
        all.extend((0..4).map(|size| Operation::Pack { kind, size }));
    }
    all
}

/// Register contents: xorshift bytes, or one of a few bytes that are extreme in some type.
fn registers(core: Core, seed: u64) -> Vec<u8> {
    let mut state = seed + 1;
    let bytes = (0..32 * core.vlenb()).map(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let byte = (state >> 24) as u8;
        match seed % 6 {
            0 => [0x80, 0x7f, 0xff, 0x00][byte as usize % 4],
            1 => 0x80,
            2 => 0xff,
            3 => 0x7f,
            _ => byte,
        }
    });
    bytes.collect()
}

#[test]
fn every_operation_computes_what_the_pseudo_code_says() {
    for core in CORES {
        let mut executed = 0;
        for operation in operations() {
            for (seed, sew) in (0..24).zip([8, 16, 32, 64].into_iter().cycle()) {
                let [vd, vs1, vs2] = [[16, 2, 4], [30, 8, 9], [6, 28, 31], [2, 10, 10]][seed as usize / 6];
                let instruction = Instruction { operation, vd, vs1, vs2 };
                let control = Control { vtype: VType::m1(sew), bf16: seed % 2 == 1 };
                if instruction.check(core, control).is_err() {
                    continue;
                }
                let before = registers(core, seed);
                let mut after = before.clone();
                execute(core, control, instruction, &mut VRegs::new(core, &mut after)).unwrap();
                let state = State { core, control, bytes: before };
                assert!(after == reference(&state, instruction), "{core:?} {control:?} {instruction}");
                executed += 1;
            }
        }
        assert!(executed >= if core == Core::A60 { 16 * 24 } else { 100 * 24 }, "{core:?}: {executed}");
    }
}

/// Sums that need more than 32 bits wrap.
#[test]
fn integer_sums_wrap() {
    let operation = Operation::Dot { element: Element::I8, signs: Signs::UU };
    let mut bytes = vec![0xff; 32 * 32];
    bytes[16 * 32..18 * 32].as_chunks_mut::<4>().0.fill(i32::MAX.to_le_bytes());
    let instruction = Instruction { operation, vd: 16, vs1: 0, vs2: 1 };
    execute(Core::A60, Control::default(), instruction, &mut VRegs::new(Core::A60, &mut bytes)).unwrap();
    let sum = (i64::from(i32::MAX) + 8 * 255 * 255) as i32;
    assert_eq!(bytes[16 * 32..16 * 32 + 4], sum.to_le_bytes());
}

/// `vupack` undoes `vpack` at every block size.
#[test]
fn unpack_undoes_pack() {
    for size in 0..4 {
        for sew in [8, 16, 32, 64] {
            let control = Control { vtype: VType::m1(sew), bf16: false };
            let before = registers(Core::A100, 5);
            let mut after = before.clone();
            let mut run = |kind, vd, vs1, vs2| {
                let instruction = Instruction { operation: Operation::Pack { kind, size }, vd, vs1, vs2 };
                execute(Core::A100, control, instruction, &mut VRegs::new(Core::A100, &mut after)).unwrap();
            };
            run(PackKind::Pack, 8, 2, 3);
            run(PackKind::Unpack, 2, 8, 9);
            assert_eq!(after[2 * 128..4 * 128], before[2 * 128..4 * 128]);
            assert_ne!(after[8 * 128..10 * 128], before[8 * 128..10 * 128]);
        }
    }
}

/// The registers from v16 on after `operation` v16, v2, v8 on an A100 whose registers start with `contents`.
fn run_on(operation: Operation, contents: &[(usize, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = vec![0; 32 * 128];
    for (register, values) in contents {
        bytes[register * 128..][..values.len()].copy_from_slice(values);
    }
    let instruction = Instruction { operation, vd: 16, vs1: 2, vs2: 8 };
    execute(Core::A100, Control::default(), instruction, &mut VRegs::new(Core::A100, &mut bytes)).unwrap();
    bytes.split_off(16 * 128)
}

/// The matrix with the elements i + j.
fn ramp(rows: u8, columns: u8) -> Vec<u8> {
    (0..rows).flat_map(|i| (i..).take(columns.into())).collect()
}

fn halves(values: impl IntoIterator<Item = u8>) -> Vec<u8> {
    values.into_iter().flat_map(|value| half::f16::from_f32(value.into()).to_le_bytes()).collect()
}

/// The examples of the specification: the first rows of C.
#[test]
fn the_specifications_examples_come_out() {
    let sparse = Operation::SparseDot { element: Element::I8, signs: Signs::SS, mask: 0, segment: 0 };
    let masks = [0x99, 0xaa, 0xcc, 0x55, 0x66, 0x33, 0x99, 0xaa].into_iter().flat_map(|mask| [mask; 4]).collect();
    let mut b = ramp(8, 16);
    b[7 * 16 + 3] = 0;
    let c = run_on(sparse, &[(2, ramp(8, 32)), (8, b), (0, masks)]);
    let row: Vec<i32> = c[..32].as_chunks().0.iter().map(|c| i32::from_le_bytes(*c)).collect();
    assert_eq!(row, [2544, 2856, 3184, 3200, 3528, 3576, 4032, 4322]);

    let scaled = Operation::ScaledDot { element: Element::I8, signs: Signs::SS, scale: 0, group: 0 };
    let c = run_on(scaled, &[(2, ramp(8, 16)), (8, ramp(8, 16)), (0, halves(1..9))]);
    let row: Vec<f32> = c[..16].as_chunks().0.iter().map(|c| half::f16::from_le_bytes(*c).to_f32()).collect();
    assert_eq!(row, [1240.0, 2720.0, 4440.0, 6400.0, 8600.0, 11040.0, 13720.0, 16640.0]);

    for (slide, expected) in [
        (0, [140.0, 168.0, 196.0, 224.0, 252.0, 280.0, 308.0, 336.0]),
        (1, [168.0, 204.0, 240.0, 276.0, 312.0, 348.0, 384.0, 420.0]),
    ] {
        let c = run_on(Operation::FloatDot { slide }, &[(2, halves(ramp(16, 8))), (8, halves(ramp(8, 8)))]);
        let row: Vec<f32> = c[..32].as_chunks().0.iter().map(|c| f32::from_le_bytes(*c)).collect();
        assert_eq!(row, expected);
    }
}
