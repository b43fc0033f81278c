//! Why an instruction is illegal.

use std::fmt;

/// The illegal-instruction exception, with its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trap {
    /// The word is not an instruction of this extension, or its encoding is reserved.
    Reserved { word: u32 },
    /// The core does not have the instruction.
    Unsupported { mnemonic: &'static str },
    /// `vtype` holds an illegal type, or LMUL is not 1.
    VectorType { vtype: u64 },
    /// The destination is a register pair and must be even.
    OddDestination { vd: u8 },
    /// A is a register pair and must be even.
    OddSource { vs1: u8 },
    /// A destination register is also a source.
    Overlap { register: u8 },
    /// The register with the mask or the scales is also an operand.
    ParameterOverlap { register: u8 },
    /// The immediate selects a part that the register does not have.
    OutOfRange { immediate: u8 },
    /// The vector type's element does not suit the instruction or its block size.
    ElementWidth { bits: usize },
}

impl fmt::Display for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Trap::Reserved { word } => write!(f, "{word:08x} is no matrix instruction"),
            Trap::Unsupported { mnemonic } => write!(f, "this core has no {mnemonic} of this type"),
            Trap::VectorType { vtype } => write!(f, "vtype {vtype:#x} is not a legal type with LMUL 1"),
            Trap::OddDestination { vd } => write!(f, "v{vd} cannot start the destination pair"),
            Trap::OddSource { vs1 } => write!(f, "v{vs1} cannot start the source pair"),
            Trap::Overlap { register } => write!(f, "v{register} is destination and source"),
            Trap::ParameterOverlap { register } => {
                write!(f, "v{register} holds the mask or the scales and is an operand too")
            }
            Trap::OutOfRange { immediate } => write!(f, "immediate {immediate} selects nothing"),
            Trap::ElementWidth { bits } => write!(f, "elements of {bits} bits do not suit the instruction"),
        }
    }
}

impl std::error::Error for Trap {}
