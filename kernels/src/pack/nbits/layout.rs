use std::fmt;

use super::{NBITS_PANEL, NBitsShape};
use crate::pack::PackLayout;

/// The order of a weight of few bits: panels of neighbouring columns, each `[steps][panel][bytes]`, where the bytes of a column
/// hold its next codes. With `planes` codes in a byte, code `bytes * p + b` of them is plane `p` of byte `b`, the first plane
/// in the lowest bits. What lies outside of the matrix is 0. Scales and zero points are `[groups][panel]` a panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NBitsLayout {
    /// Panels of 16 columns of unsigned codes, with steps of four bytes; a group is a block.
    Host,
    /// Panels and steps of an 8-bit weight of this layout. Codes are signed, those of 2 bits in half a byte. A half stands for
    /// 16 times its number, which scales and zero points make up for: then one instruction makes a byte of it.
    Packed(PackLayout),
}

impl NBitsLayout {
    /// Most rows that share a scale of the activations.
    const GROUP: usize = 128;

    /// Columns of a panel.
    pub(crate) fn panel(self) -> usize {
        match self {
            Self::Host => NBITS_PANEL,
            Self::Packed(layout) => layout.panel(),
        }
    }

    /// Bytes of a column in a step.
    pub(crate) fn step(self) -> usize {
        match self {
            Self::Host => 4,
            Self::Packed(layout) => layout.k_group(),
        }
    }

    pub(crate) fn panels(self, shape: &NBitsShape) -> usize {
        shape.n.div_ceil(self.panel())
    }

    /// Bits that a code takes. Where a block ends within the planes of a step, a byte holds one code.
    pub(crate) fn bits(self, shape: &NBitsShape) -> usize {
        match self {
            Self::Host => shape.bits,
            Self::Packed(_) if shape.bits < 8 && shape.block.is_multiple_of(2 * self.step()) => 4,
            Self::Packed(_) => 8,
        }
    }

    /// Codes in a byte.
    pub(crate) fn planes(self, shape: &NBitsShape) -> usize {
        8 / self.bits(shape)
    }

    /// Rows with one scale: a block, or on chips an equal part of it, of at most 128.
    pub(crate) fn group(self, shape: &NBitsShape) -> usize {
        match self {
            Self::Host => shape.block,
            Self::Packed(_) => (1 << shape.block.trailing_zeros()).min(Self::GROUP),
        }
    }

    /// Groups of a column. On chips their steps are of an even number, because kernels take two at once.
    pub(crate) fn groups(self, shape: &NBitsShape) -> usize {
        let group = self.group(shape);
        match self {
            Self::Host => shape.k.div_ceil(group),
            Self::Packed(_) => shape.k.next_multiple_of(group.max(2 * self.step())) / group,
        }
    }

    /// Rows with those that fill the last group up.
    pub(crate) fn depth(self, shape: &NBitsShape) -> usize {
        match self {
            Self::Host => shape.depth(),
            Self::Packed(_) => self.groups(shape) * self.group(shape),
        }
    }

    /// Bytes of the codes of a panel.
    pub(super) fn panel_bytes(self, shape: &NBitsShape) -> usize {
        self.depth(shape) / self.planes(shape) * self.panel()
    }

    /// What a scale is multiplied with, and a zero point divided by, when it is packed.
    pub(super) fn unit(self, shape: &NBitsShape) -> f32 {
        match self {
            Self::Packed(_) if self.bits(shape) == 4 => 1.0 / 16.0,
            _ => 1.0,
        }
    }
}

impl fmt::Display for NBitsLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host => f.write_str("host"),
            Self::Packed(layout) => layout.fmt(f),
        }
    }
}
