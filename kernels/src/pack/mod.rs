//! Constant right-hand sides in the order their kernels read them.

mod int8_rows;
mod nbits;
mod panels;
mod weights;

pub use nbits::{Codes, NBitsLayout, NBitsShape, NBitsWeights};
pub use weights::{PackError, PackedWeights, WeightData, WeightSource};

pub(crate) use int8_rows::Int8Rows;
pub(crate) use nbits::{NBITS_PANEL, NBitsBlocks, NBitsPanel, NBitsPanels};
pub(crate) use panels::{Rows, pack_panel, pack_panels, panel_len};

/// The order of a packed weight. It depends on the tile of the kernels that read it, never on the number of rows of the
/// product, so one packed copy serves every product with that weight.
///
/// Layouts of the chips are named `<elem>p<panel>x<kgroup>`: panels of so many columns, each `[k / kgroup][panel][kgroup]`,
/// with zeros where the matrix ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PackLayout {
    /// f32 panels of the host engine.
    HostF32,
    /// i8 panels of the host engine. An unsigned weight is stored less 128.
    HostI8,
    /// For RVV: a step of a panel is a group of four vector registers of 256 bits, or one of 1024 bits.
    F32P32X1,
    /// As `F32P32X1`, in f16.
    F16P32X1,
    /// For IME2's f16 products, tile 8x8x8: a group of four tiles is four registers of 1024 bits.
    F16P32X8,
    /// For RVV. An unsigned weight is stored less 128.
    I8P32X1,
    /// For IME1, tile 4x4x8: a group of four tiles is four registers of 256 bits. An unsigned weight is stored less 128.
    I8P16X8,
    /// For IME2, tile 8x8x16: a group of four tiles is four registers of 1024 bits. An unsigned weight is stored less 128.
    I8P32X16,
}

impl PackLayout {
    pub const ALL: [Self; 8] = [
        Self::HostF32,
        Self::HostI8,
        Self::F32P32X1,
        Self::F16P32X1,
        Self::F16P32X8,
        Self::I8P32X1,
        Self::I8P16X8,
        Self::I8P32X16,
    ];

    /// Columns of a panel.
    pub const fn panel(self) -> usize {
        match self {
            PackLayout::HostF32 | PackLayout::HostI8 => crate::host::PANEL,
            PackLayout::I8P16X8 => 16,
            PackLayout::F32P32X1
            | PackLayout::F16P32X1
            | PackLayout::F16P32X8
            | PackLayout::I8P32X1
            | PackLayout::I8P32X16 => 32,
        }
    }

    /// Neighbouring elements along the depth that stand side by side; the host engine's order is its own affair.
    pub const fn k_group(self) -> usize {
        match self {
            PackLayout::HostF32 | PackLayout::HostI8 => 1,
            PackLayout::F32P32X1 | PackLayout::F16P32X1 | PackLayout::I8P32X1 => 1,
            PackLayout::F16P32X8 | PackLayout::I8P16X8 => 8,
            PackLayout::I8P32X16 => 16,
        }
    }

    /// Whether both operands of its products are f16.
    pub const fn is_f16(self) -> bool {
        matches!(self, PackLayout::F16P32X1 | PackLayout::F16P32X8)
    }

    pub const fn name(self) -> &'static str {
        match self {
            PackLayout::HostF32 => "host_f32",
            PackLayout::HostI8 => "host_i8",
            PackLayout::F32P32X1 => "f32p32x1",
            PackLayout::F16P32X1 => "f16p32x1",
            PackLayout::F16P32X8 => "f16p32x8",
            PackLayout::I8P32X1 => "i8p32x1",
            PackLayout::I8P16X8 => "i8p16x8",
            PackLayout::I8P32X16 => "i8p32x16",
        }
    }
}

impl std::fmt::Display for PackLayout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
