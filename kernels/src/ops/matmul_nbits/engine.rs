use std::fmt;
use std::ops::Range;

use super::left::STRIP;
use super::{Compute, groups};
use crate::isa::Target;
use crate::ops::blocks::Blocks;
use crate::ops::ranks;
use crate::pack::{NBitsLayout, NBitsShape, PackLayout};
use crate::rt::Worker;
use crate::select;
use crate::table::Variant;
use crate::ukr::matmul_f32_f32_f32::MatMulF32F32F32;
use crate::ukr::matmul_nbits::MatMulNBits as Int8Products;
use crate::ukr::matvec_nbits::MatVecNBits as RowProducts;

/// What multiplies with weights of few bits, and how precisely.
#[derive(Clone, Copy)]
pub struct Engine(pub(super) Kind);

#[derive(Clone, Copy)]
pub(super) enum Kind {
    Host(Compute),
    /// Micro-kernels of a chip, with rows in int8; there may be one for a single row.
    Int8(&'static Variant<Int8Products>, Option<&'static Variant<RowProducts>>),
    /// The weight is written out in f32, a piece after the other, for a micro-kernel of a chip.
    F32(Blocks<MatMulF32F32F32>),
}

/// Rows of a block in int8 on the host, which stays in the first cache beside a panel.
const INT8_ROWS: usize = 32;
/// Rows up to which, on the host in f32, unpacking a panel again for every few rows beats writing it out once.
const FEW_ROWS: usize = 12;
/// Rows that an unpacked piece of a weight is multiplied with on a chip in int8, and in f32.
const CHIP_ROWS: [usize; 2] = [128, 48];

impl Engine {
    pub fn new(target: &Target, compute: Compute) -> Self {
        let on_chip = match compute {
            Compute::F32 => Blocks::new(target.core, select::f32_layout(target)).map(Kind::F32),
            Compute::Int8 => {
                let layout = select::i8_layout(target);
                select::matmul(target.core, layout).map(|many| Kind::Int8(many, select::matmul(target.core, layout)))
            }
        };
        Self(on_chip.unwrap_or(Kind::Host(compute)))
    }

    /// The order of the weights.
    pub fn layout(self) -> NBitsLayout {
        match self.0 {
            Kind::Host(_) => NBitsLayout::Host,
            Kind::Int8(variant, _) => groups::layout(variant),
            Kind::F32(_) => NBitsLayout::Packed(PackLayout::I8P32X1),
        }
    }

    /// Whether `m` rows are so many that the host engine better multiplies with panels in f32.
    pub(super) fn unpacks(self, m: usize) -> bool {
        matches!(self.0, Kind::Host(Compute::F32)) && m > FEW_ROWS
    }

    /// Rows of a block that is multiplied with panels as they are.
    pub(super) fn block_rows(self, m: usize) -> usize {
        let most = match self.0 {
            Kind::Host(Compute::Int8) => INT8_ROWS,
            Kind::Host(Compute::F32) => FEW_ROWS,
            Kind::Int8(..) => CHIP_ROWS[0],
            Kind::F32(_) => CHIP_ROWS[1],
        };
        most.min(m)
    }

    /// Rows and panels of this rank. Ranks share the columns, and rows only where unpacking is not paid for each of them.
    pub(super) fn share(self, worker: &Worker<'_>, m: usize, shape: &NBitsShape) -> (Range<usize>, Range<usize>) {
        let row_grain = if matches!(self.0, Kind::Host(Compute::F32)) { m.max(1) } else { INT8_ROWS };
        let layout = self.layout();
        ranks::Matrix { m, row_grain, panels: layout.panels(shape), panel: layout.panel().min(shape.n()), k: shape.k() }
            .share(worker)
    }

    /// Panels of a tile.
    pub(crate) fn strip_panels(self) -> usize {
        STRIP / self.layout().panel()
    }

    /// Columns of neighbouring panels.
    pub(super) fn columns(self, shape: &NBitsShape, panels: &Range<usize>) -> Range<usize> {
        let panel = self.layout().panel();
        panels.start * panel..(panels.end * panel).min(shape.n())
    }
}

/// e.g. `int8`, or on a chip `int8 by ime1_4x16x16`.
impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Kind::Host(Compute::Int8) => f.write_str("int8"),
            Kind::Host(Compute::F32) => f.write_str("f32"),
            Kind::Int8(variant, _) => write!(f, "int8 by {}", variant.name),
            Kind::F32(blocks) => write!(f, "f32 by {}", blocks.name()),
        }
    }
}
