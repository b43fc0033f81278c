//! Encodings against LLVM's assembler, and decoding against encoding.

use ime::{Element, Instruction, MNEMONICS, Operation, PackKind, Signs, Trap, decode};

/// The words and texts that LLVM made (the file's head says how).
fn llvm() -> impl Iterator<Item = (u32, &'static str)> {
    let lines = include_str!("data/llvm23.txt").lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| {
        let (word, text) = line.split_once(' ').unwrap();
        (u32::from_str_radix(word, 16).unwrap(), text)
    })
}

#[test]
fn words_are_those_of_llvm() {
    for (word, text) in llvm() {
        let instruction = decode(word).unwrap();
        assert_eq!(instruction.to_string(), text);
        assert_eq!(instruction.encode(), word, "{text}");
    }
}

#[test]
fn llvm_words_cover_every_form() {
    let mut forms: Vec<_> = llvm()
        .map(|(_, text)| {
            let mnemonic = text.split(' ').next().unwrap();
            (mnemonic, text.ends_with("i4"))
        })
        .collect();
    forms.sort_unstable();
    forms.dedup();
    assert_eq!(forms.len(), 46, "the specification counts 46 instructions");
    for mnemonic in MNEMONICS {
        assert!(forms.iter().any(|form| form.0 == mnemonic), "{mnemonic}");
    }
}

/// Every word of the opcode that decodes encodes back to itself, and every operation is reached.
#[test]
fn decoding_and_encoding_are_inverse() {
    let mut seen = [false; MNEMONICS.len()];
    for high in 0..1u32 << 14 {
        // All function and low register bits, with vs2 = 21 and the high bits of vs1 and vd set to 10110.
        let (function, low) = (high >> 7, high & 0x7f);
        let word =
            function << 25 | 21 << 20 | 0b10110 << 15 | (low & 0xf) << 12 | 0b10110 << 7 | (low >> 4) << 7 | 0x2b;
        match decode(word) {
            Ok(instruction) => {
                assert_eq!(instruction.encode(), word, "{instruction}");
                seen[instruction.operation.index()] = true;
            }
            Err(trap) => assert_eq!(trap, Trap::Reserved { word }),
        }
    }
    assert_eq!(seen, [true; MNEMONICS.len()]);
}

#[test]
fn reserved_encodings_are_refused() {
    let dot = Operation::Dot { element: Element::I8, signs: Signs::SS };
    let dot = Instruction { operation: dot, vd: 0, vs1: 2, vs2: 3 }.encode();
    let slide = Operation::SlidingDot { slide: 1, signs: Signs::SS };
    let slide = Instruction { operation: slide, vd: 0, vs1: 2, vs2: 3 }.encode();
    let pack = Operation::Pack { kind: PackKind::Pack, size: 0 };
    let pack = Instruction { operation: pack, vd: 0, vs1: 2, vs2: 3 }.encode();
    for (why, word) in [
        ("another opcode", dot ^ 0x20),
        ("element type 00", dot & !(3 << 29)),
        ("element type 01", dot & !(3 << 29) | 1 << 29),
        ("a dot with bit 25 clear", dot & !(1 << 25)),
        ("a dot with bit 14 set", dot | 1 << 14),
        ("a slide of 4", slide | 3 << 14),
        ("a slide of 4-bit elements", slide & !(1 << 29)),
        ("function 111", dot | 7 << 26),
        ("function 010 with bit 14 set", dot | 2 << 26 | 1 << 14),
        ("a pack with bit 25 clear", pack & !(1 << 25)),
        ("nothing", 0),
    ] {
        assert_eq!(decode(word), Err(Trap::Reserved { word }), "{why}");
    }
}
