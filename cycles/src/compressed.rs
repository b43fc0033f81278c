//! Compressed instructions as the long ones that they stand for (RISC-V Unprivileged ISA, chapter "C").

/// Bits `high` to `low` of `word`.
const fn bits(word: u32, high: u32, low: u32) -> u32 {
    word >> low & ((1 << (high - low + 1)) - 1)
}

/// `value`, whose highest bit is `sign`, with that bit repeated above.
const fn extend(value: u32, sign: u32) -> u32 {
    ((value << (31 - sign)) as i32 >> (31 - sign)) as u32
}

const fn i_type(opcode: u32, funct3: u32, rd: u32, rs1: u32, immediate: u32) -> u32 {
    immediate << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode
}

const fn s_type(opcode: u32, funct3: u32, rs1: u32, rs2: u32, immediate: u32) -> u32 {
    bits(immediate, 11, 5) << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | bits(immediate, 4, 0) << 7 | opcode
}

const fn r_type(opcode: u32, funct7: u32, funct3: u32, rd: u32, rs1: u32, rs2: u32) -> u32 {
    funct7 << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode
}

/// The 32-bit instruction of a 16-bit one of RV64C; one that is reserved becomes an addition without effect. Targets of jumps
/// are left out, since the model follows what is executed.
pub const fn expand(half: u16) -> u32 {
    const NOP: u32 = 0x13;
    let c = half as u32;
    // Full and short register fields.
    let (rd, rs2) = (bits(c, 11, 7), bits(c, 6, 2));
    let (high, low) = (8 + bits(c, 9, 7), 8 + bits(c, 4, 2));
    let signed = extend(bits(c, 12, 12) << 5 | rs2, 5);
    let shift = bits(c, 12, 12) << 5 | rs2;
    let by8 = bits(c, 6, 5) << 6 | bits(c, 12, 10) << 3;
    let by4 = bits(c, 5, 5) << 6 | bits(c, 12, 10) << 3 | bits(c, 6, 6) << 2;
    let sp8 = bits(c, 4, 2) << 6 | bits(c, 12, 12) << 5 | bits(c, 6, 5) << 3;
    let sp4 = bits(c, 3, 2) << 6 | bits(c, 12, 12) << 5 | bits(c, 6, 4) << 2;
    let to_sp8 = bits(c, 9, 7) << 6 | bits(c, 12, 10) << 3;
    let to_sp4 = bits(c, 8, 7) << 6 | bits(c, 12, 9) << 2;
    match (c & 3, bits(c, 15, 13)) {
        (0, 0) => i_type(
            0x13,
            0,
            low,
            2,
            bits(c, 10, 7) << 6 | bits(c, 12, 11) << 4 | bits(c, 5, 5) << 3 | bits(c, 6, 6) << 2,
        ),
        (0, 1) => i_type(0x07, 3, low, high, by8),
        (0, 2) => i_type(0x03, 2, low, high, by4),
        (0, 3) => i_type(0x03, 3, low, high, by8),
        (0, 5) => s_type(0x27, 3, high, low, by8),
        (0, 6) => s_type(0x23, 2, high, low, by4),
        (0, 7) => s_type(0x23, 3, high, low, by8),
        (1, 0) => i_type(0x13, 0, rd, rd, signed),
        (1, 1) => i_type(0x1b, 0, rd, rd, signed),
        (1, 2) => i_type(0x13, 0, rd, 0, signed),
        (1, 3) if rd == 2 => i_type(0x13, 0, 2, 2, signed),
        (1, 3) => rd << 7 | 0x37,
        (1, 4) => match (bits(c, 11, 10), bits(c, 12, 12), bits(c, 6, 5)) {
            (0, ..) => i_type(0x13, 5, high, high, shift),
            (1, ..) => i_type(0x13, 5, high, high, 1 << 10 | shift),
            (2, ..) => i_type(0x13, 7, high, high, signed),
            (_, 0, 0) => r_type(0x33, 0x20, 0, high, high, low),
            (_, 0, 1) => r_type(0x33, 0, 4, high, high, low),
            (_, 0, 2) => r_type(0x33, 0, 6, high, high, low),
            (_, 0, _) => r_type(0x33, 0, 7, high, high, low),
            (_, _, 0) => r_type(0x3b, 0x20, 0, high, high, low),
            (_, _, 1) => r_type(0x3b, 0, 0, high, high, low),
            // Zcb: products and extensions.
            (_, _, 2) => r_type(0x33, 1, 0, high, high, low),
            _ => i_type(0x13, 7, high, high, 0),
        },
        (1, 5) => 0x6f,
        (1, 6) => high << 15 | 0x63,
        (1, _) => high << 15 | 1 << 12 | 0x63,
        (2, 0) => i_type(0x13, 1, rd, rd, shift),
        (2, 1) => i_type(0x07, 3, rd, 2, sp8),
        (2, 2) => i_type(0x03, 2, rd, 2, sp4),
        (2, 3) => i_type(0x03, 3, rd, 2, sp8),
        (2, 4) => match (bits(c, 12, 12), rd, rs2) {
            (_, 0, 0) => 0x73,
            (link, _, 0) => i_type(0x67, 0, link, rd, 0),
            (0, ..) => r_type(0x33, 0, 0, rd, 0, rs2),
            _ => r_type(0x33, 0, 0, rd, rd, rs2),
        },
        (2, 5) => s_type(0x27, 3, 2, rs2, to_sp8),
        (2, 6) => s_type(0x23, 2, 2, rs2, to_sp4),
        (2, 7) => s_type(0x23, 3, 2, rs2, to_sp8),
        _ => NOP,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_become_what_the_assembler_makes_without_the_extension() {
        // Pairs as the assembler wrote them with and without C.
        let pairs = [
            (0x1141, 0xff01_0113), // addi sp, sp, -16
            (0x157d, 0xfff5_0513), // addi a0, a0, -1
            (0x4501, 0x0000_0513), // li a0, 0
            (0x852e, 0x00b0_0533), // mv a0, a1
            (0x952e, 0x00b5_0533), // add a0, a0, a1
            (0x050e, 0x0035_1513), // slli a0, a0, 3
            (0x810d, 0x0035_5513), // srli a0, a0, 3
            (0x6188, 0x0005_b503), // ld a0, 0(a1)
            (0x4588, 0x0085_a503), // lw a0, 8(a1)
            (0xe188, 0x00a5_b023), // sd a0, 0(a1)
            (0x70a2, 0x0281_3083), // ld ra, 40(sp)
            (0xf406, 0x0211_3423), // sd ra, 40(sp)
            (0x2188, 0x0005_b507), // fld fa0, 0(a1)
            (0x8082, 0x0000_8067), // ret
            (0x9502, 0x0005_00e7), // jalr a0
            (0x8d89, 0x40a5_85b3), // sub a1, a1, a0
            (0x9d2d, 0x00b5_053b), // addw a0, a0, a1
            (0x8905, 0x0015_7513), // andi a0, a0, 1
            (0x0808, 0x0101_0513), // addi a0, sp, 16
            (0x6105, 0x0201_0113), // addi sp, sp, 32
        ];
        for (half, word) in pairs {
            // The immediate of the last one is in other bits, which the model does not read.
            let mask = if half == 0x6105 { 0x000f_ffff } else { u32::MAX };
            assert_eq!(expand(half) & mask, word & mask, "{half:#06x}");
        }
        assert_eq!(expand(0xbffd) & 0x7f, 0x6f);
        assert_eq!(expand(0xfd75) & 0x7f, 0x63);
    }
}
