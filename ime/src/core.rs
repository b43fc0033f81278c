//! The cores that have the extension.

use crate::insn::{Element, Operation};

/// A core: its tile geometry and whether it knows IME2.
///
/// The specification's lambda fixes everything: VLEN = 64 lambda^2 bits, and a tile product is
/// M x K x N = 2 lambda x (4 lambda bytes) x 2 lambda.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Core {
    lambda: usize,
    ime2: bool,
}

impl Core {
    /// K1's core (and K3's X100, which shares it): VLEN 256, tiles of 4 x 8 x 4 bytes, IME1.
    pub const A60: Core = Core::new(2, false);
    /// K3's matrix core: VLEN 1024, tiles of 8 x 16 x 8 bytes, IME2.
    pub const A100: Core = Core::new(4, true);
    /// The longest vector register of any core, in bytes.
    pub const MAX_VLENB: usize = 128;

    /// A core of any geometry, also of ones that no chip has. Panics when its registers were longer than
    /// [`Core::MAX_VLENB`].
    pub const fn new(lambda: usize, ime2: bool) -> Core {
        let core = Core { lambda, ime2 };
        assert!(lambda > 0 && core.vlenb() <= Core::MAX_VLENB);
        core
    }

    /// The core with vector registers of `vlenb` bytes.
    pub const fn with_vlenb(vlenb: usize) -> Option<Core> {
        match vlenb {
            32 => Some(Core::A60),
            128 => Some(Core::A100),
            _ => None,
        }
    }

    /// Bytes of a vector register.
    pub const fn vlenb(self) -> usize {
        8 * self.lambda * self.lambda
    }

    /// Rows of A, and columns of B, in one register.
    pub const fn rows(self) -> usize {
        2 * self.lambda
    }

    /// Whether the core has the instruction at all.
    pub fn supports(self, operation: Operation) -> bool {
        let ime1 = match operation {
            Operation::Dot { element, .. } => element == Element::I8,
            Operation::SlidingDot { .. } => true,
            _ => false,
        };
        ime1 || self.ime2
    }
}
