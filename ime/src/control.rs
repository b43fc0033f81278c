//! The control state that the instructions read.

/// The vector type register, as the `vtype` CSR holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VType(pub u64);

impl VType {
    /// The type with elements of `sew` bits (8, 16, 32, 64) and LMUL 1.
    pub const fn m1(sew: u32) -> VType {
        VType(((sew.trailing_zeros() - 3) << 3) as u64)
    }

    /// Whether the register holds a type that the core cannot do (`vill`).
    pub const fn is_illegal(self) -> bool {
        self.0 >> 63 != 0
    }

    /// Whether LMUL is 1.
    pub const fn is_m1(self) -> bool {
        self.0 & 7 == 0
    }

    /// Bytes of an element (SEW / 8).
    pub const fn element_bytes(self) -> usize {
        1 << (self.0 >> 3 & 7)
    }
}

/// What besides the registers decides about an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    /// The vector type: only LMUL 1 is legal; the element width matters to the pack instructions alone.
    pub vtype: VType,
    /// The bit MCPM.BF16: 16-bit floats are bfloat16 instead of binary16.
    pub bf16: bool,
}

impl Default for Control {
    /// Elements of 8 bits, LMUL 1, binary16.
    fn default() -> Control {
        Control { vtype: VType::m1(8), bf16: false }
    }
}
