//! The instructions: what they are called and what they carry.

use std::fmt;

/// Signedness of A and B. The discriminant is the field's value in the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signs {
    UU = 0,
    US = 1,
    SU = 2,
    SS = 3,
}

impl Signs {
    pub const ALL: [Signs; 4] = [Signs::UU, Signs::US, Signs::SU, Signs::SS];

    /// Whether A is signed.
    pub const fn a(self) -> bool {
        self as u8 & 2 != 0
    }

    /// Whether B is signed.
    pub const fn b(self) -> bool {
        self as u8 & 1 != 0
    }
}

/// Type of the elements of A and B. The discriminant is the field's value in the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    I4 = 2,
    I8 = 3,
}

impl Element {
    /// How many elements a byte holds.
    pub const fn per_byte(self) -> usize {
        match self {
            Element::I4 => 2,
            Element::I8 => 1,
        }
    }
}

/// The instructions that rearrange data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackKind {
    Pack,
    Unpack,
    Narrow,
    NarrowSaturate,
    Narrow4,
    NarrowSaturate4,
}

impl PackKind {
    pub const ALL: [PackKind; 6] = [
        PackKind::Pack,
        PackKind::Unpack,
        PackKind::Narrow,
        PackKind::NarrowSaturate,
        PackKind::Narrow4,
        PackKind::NarrowSaturate4,
    ];
}

/// What an instruction does, with its immediates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// C += A B^T in 32-bit integers.
    Dot { element: Element, signs: Signs },
    /// The same for 8-bit elements, with A starting `slide` (1 to 3) rows further in two registers.
    SlidingDot { slide: u8, signs: Signs },
    /// The same with a B that keeps two of four elements, told by `segment` of register `mask` (0 or 1).
    SparseDot { element: Element, signs: Signs, mask: u8, segment: u8 },
    /// C += (A B^T) * scale in 16-bit floats, with `group` (0 to 7) of register `scale` (0 or 1).
    ScaledDot { element: Element, signs: Signs, scale: u8, group: u8 },
    /// C += A B^T with 16-bit floats and 32-bit sums; `slide` (0 to 3) as above.
    FloatDot { slide: u8 },
    /// Interleaves, separates or narrows, in blocks told by `size` (0 to 3).
    Pack { kind: PackKind, size: u8 },
}

/// An instruction: C is in `vd`, A in `vs1`, B in `vs2`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    pub operation: Operation,
    pub vd: u8,
    pub vs1: u8,
    pub vs2: u8,
}

/// LLVM's names of all instructions, in the order of [`Operation::index`].
pub const MNEMONICS: [&str; 34] = [
    "smt.vmadotu",
    "smt.vmadotus",
    "smt.vmadotsu",
    "smt.vmadot",
    "smt.vmadot1u",
    "smt.vmadot1us",
    "smt.vmadot1su",
    "smt.vmadot1",
    "smt.vmadot2u",
    "smt.vmadot2us",
    "smt.vmadot2su",
    "smt.vmadot2",
    "smt.vmadot3u",
    "smt.vmadot3us",
    "smt.vmadot3su",
    "smt.vmadot3",
    "smt.vmadotu.sp",
    "smt.vmadotus.sp",
    "smt.vmadotsu.sp",
    "smt.vmadot.sp",
    "smt.vmadotu.hp",
    "smt.vmadotus.hp",
    "smt.vmadotsu.hp",
    "smt.vmadot.hp",
    "smt.vfwmadot",
    "smt.vfwmadot1",
    "smt.vfwmadot2",
    "smt.vfwmadot3",
    "smt.vpack.vv",
    "smt.vupack.vv",
    "smt.vnpack.vv",
    "smt.vnspack.vv",
    "smt.vnpack4.vv",
    "smt.vnspack4.vv",
];

impl Operation {
    /// Where the operation's name is in [`MNEMONICS`].
    pub const fn index(self) -> usize {
        match self {
            Operation::Dot { signs, .. } => signs as usize,
            Operation::SlidingDot { slide, signs } => 4 * slide as usize + signs as usize,
            Operation::SparseDot { signs, .. } => 16 + signs as usize,
            Operation::ScaledDot { signs, .. } => 20 + signs as usize,
            Operation::FloatDot { slide } => 24 + slide as usize,
            Operation::Pack { kind, .. } => 28 + kind as usize,
        }
    }

    /// LLVM's name of the instruction.
    pub const fn mnemonic(self) -> &'static str {
        MNEMONICS[self.index()]
    }

    /// How many registers the destination takes.
    pub const fn destination_registers(self) -> u8 {
        match self {
            Operation::ScaledDot { .. } => 1,
            Operation::Pack { kind: PackKind::Pack | PackKind::Unpack, .. } => 2,
            Operation::Pack { .. } => 1,
            _ => 2,
        }
    }

    /// How many registers A takes.
    pub const fn a_registers(self) -> u8 {
        match self {
            Operation::SlidingDot { .. } | Operation::SparseDot { .. } => 2,
            Operation::FloatDot { slide } if slide > 0 => 2,
            _ => 1,
        }
    }

    /// The register that holds the mask or the scales.
    pub const fn parameter_register(self) -> Option<u8> {
        match self {
            Operation::SparseDot { mask, .. } => Some(mask),
            Operation::ScaledDot { scale, .. } => Some(scale),
            _ => None,
        }
    }
}

/// The instruction as LLVM's disassembler writes it.
impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Instruction { operation, vd, vs1, vs2 } = *self;
        write!(f, "{} v{vd}, v{vs1}, v{vs2}", operation.mnemonic())?;
        let element_name = |element| if element == Element::I4 { "i4" } else { "i8" };
        match operation {
            Operation::Dot { element, .. } => write!(f, ", {}", element_name(element)),
            Operation::SlidingDot { .. } => write!(f, ", i8"),
            Operation::SparseDot { element, mask: register, segment: part, .. }
            | Operation::ScaledDot { element, scale: register, group: part, .. } => {
                write!(f, ", v{register}, {part}, {}", element_name(element))
            }
            Operation::FloatDot { .. } => Ok(()),
            Operation::Pack { size, .. } => write!(f, ", {size}"),
        }
    }
}
