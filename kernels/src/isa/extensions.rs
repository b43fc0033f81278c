use std::fmt;
use std::ops::RangeInclusive;

use super::Engine;

/// What a core can execute beside the base instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Isa {
    /// Bits of a vector register; 0 without the V extension.
    pub vlen: usize,
    /// Zvfh: vectors of f16.
    pub f16: bool,
    /// The matrix instructions of VLEN 256, `smt.vmadot` on 4x4x8.
    pub ime1: bool,
    /// The matrix instructions of VLEN 1024, `smt.vmadot` on 8x8x16 and `smt.vfwmadot`.
    pub ime2: bool,
    /// Zicboz on blocks of 64 bytes, where programs may use it. Plans rely on it nowhere.
    pub zeroes_lines: bool,
}

impl Isa {
    /// A core without vectors, and every core that is not RISC-V.
    pub const SCALAR: Self = Self { vlen: 0, f16: false, ime1: false, ime2: false, zeroes_lines: false };

    /// What this core and `other` both have; different vector lengths count as none.
    pub fn and(self, other: Self) -> Self {
        if self.vlen != other.vlen {
            return Self::SCALAR;
        }
        Self {
            vlen: self.vlen,
            f16: self.f16 && other.f16,
            ime1: self.ime1 && other.ime1,
            ime2: self.ime2 && other.ime2,
            zeroes_lines: self.zeroes_lines && other.zeroes_lines,
        }
    }
}

/// What a micro-kernel demands of the core that runs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needs {
    pub engine: Engine,
    /// Lengths of a vector register in bits that it is written for.
    pub vlen: RangeInclusive<usize>,
    pub f16: bool,
}

impl Needs {
    pub const SCALAR: Self = Self { engine: Engine::Scalar, vlen: 0..=usize::MAX, f16: false };
    /// Vectors of any length that the application profiles allow.
    pub const RVV: Self = Self { engine: Engine::Rvv, vlen: 128..=65_536, f16: false };
    pub const RVV_256: Self = Self { vlen: 256..=256, ..Self::RVV };
    pub const RVV_256_TO_1024: Self = Self { vlen: 256..=1024, ..Self::RVV };
    pub const RVV_1024: Self = Self { vlen: 1024..=1024, ..Self::RVV };
    /// Vectors of f16, of any length.
    pub const ZVFH: Self = Self { f16: true, ..Self::RVV };
    pub const ZVFH_256: Self = Self { vlen: 256..=256, ..Self::ZVFH };
    pub const IME1: Self = Self { engine: Engine::Ime1, ..Self::RVV_256 };
    pub const IME2: Self = Self { engine: Engine::Ime2, ..Self::RVV_1024 };
    /// With vectors of f16, too.
    pub const IME2_F16: Self = Self { f16: true, ..Self::IME2 };

    /// Whether a core with `isa` can run it.
    pub fn met_by(&self, isa: Isa) -> bool {
        let engine = match self.engine {
            Engine::Scalar => true,
            Engine::Rvv => isa.vlen > 0,
            Engine::Ime1 => isa.ime1,
            Engine::Ime2 => isa.ime2,
            Engine::Host => false,
        };
        engine && self.vlen.contains(&isa.vlen) && (isa.f16 || !self.f16)
    }
}

impl fmt::Display for Needs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.engine {
            Engine::Scalar => return f.write_str("any core"),
            Engine::Host => return f.write_str("another machine"),
            Engine::Rvv if self.f16 => "Zvfh",
            Engine::Rvv => "RVV",
            Engine::Ime1 => "IME1",
            Engine::Ime2 => "IME2",
        })?;
        let (least, most) = (self.vlen.start(), self.vlen.end());
        match (least, most) {
            _ if least == most => write!(f, ", VLEN {least}"),
            _ if self.vlen == Self::RVV_256_TO_1024.vlen => write!(f, ", VLEN {least} to {most}"),
            _ => write!(f, ", VLEN {least} or more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::CoreKind;

    #[test]
    fn a_core_meets_what_it_has() {
        let (k1, k3) = (CoreKind::A60.isa(), CoreKind::A100.isa());
        for (needs, on_k1, on_k3, on_scalar) in [
            (Needs::SCALAR, true, true, true),
            (Needs::RVV, true, true, false),
            (Needs::RVV_256, true, false, false),
            (Needs::RVV_1024, false, true, false),
            (Needs::ZVFH, true, true, false),
            (Needs::IME1, true, false, false),
            (Needs::IME2, false, true, false),
        ] {
            let met = [k1, k3, Isa::SCALAR].map(|isa| needs.met_by(isa));
            assert_eq!(met, [on_k1, on_k3, on_scalar], "{needs:?}");
        }
        assert!(!Needs::ZVFH.met_by(Isa { f16: false, ..k1 }));
        let words = [Needs::SCALAR, Needs::ZVFH, Needs::IME1].map(|needs| needs.to_string());
        assert_eq!(words, ["any core", "Zvfh, VLEN 128 or more", "IME1, VLEN 256"]);
        assert_eq!(k1.and(k3), Isa::SCALAR);
        assert_eq!(k1.and(CoreKind::X60.isa()), CoreKind::X60.isa());
    }
}
