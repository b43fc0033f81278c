//! Constant right-hand sides in the order their kernels read them.

mod weights;

pub use weights::{PackError, PackedWeights, WeightData, WeightSource};

/// The order of a packed weight. It depends on the tile of the kernels that read it, never on their block or on the
/// number of rows of the product, so one packed copy serves every product with that weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PackLayout {
    /// f32 panels of the host engine.
    HostF32,
    /// i8 panels of the host engine. An unsigned weight is stored less 128.
    HostI8,
}

impl PackLayout {
    /// Columns of a panel: the smallest part of a weight that one rank takes.
    pub const fn panel(self) -> usize {
        match self {
            PackLayout::HostF32 | PackLayout::HostI8 => crate::host::PANEL,
        }
    }

    /// e.g. `host_f32`.
    pub fn name(self) -> &'static str {
        match self {
            PackLayout::HostF32 => "host_f32",
            PackLayout::HostI8 => "host_i8",
        }
    }
}

impl std::fmt::Display for PackLayout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
