use std::fmt;
use std::ops::Range;

use super::left::{Left, ROW_STRIP, STRIP};
use super::{Compute, groups};
use crate::isa::Target;
use crate::mem::Scratch;
use crate::ops::blocks::Blocks;
use crate::ops::ranks;
use crate::pack::{NBitsLayout, NBitsShape, PackLayout};
use crate::rt::Worker;
use crate::select;
use crate::table::Variant;
use crate::ukr::matmul_f16_f16_f32::MatMulF16F16F32;
use crate::ukr::matmul_f32_f32_f32::MatMulF32F32F32;
use crate::ukr::matmul_nbits::MatMulNBits as Int8Products;
use crate::ukr::matvec_nbits::MatVecNBits as RowProducts;

/// What multiplies with weights of few bits, and how precisely.
#[derive(Clone, Copy)]
pub struct Engine {
    pub(super) kind: Kind,
    /// Bytes of the scratchpad of a core.
    tcm_bytes: usize,
}

#[derive(Clone, Copy)]
pub(super) enum Kind {
    Host(Compute),
    /// Micro-kernels of a chip, with rows in int8; there may be one for a single row.
    Int8(&'static Variant<Int8Products>, Option<&'static Variant<RowProducts>>),
    /// Micro-kernels of a chip, with several rows in f16, and a single one in int8.
    F16(Blocks<MatMulF16F16F32>, &'static Variant<RowProducts>),
    /// The weight is written out in f32, a piece after the other, for a micro-kernel of a chip.
    F32(Blocks<MatMulF32F32F32>),
}

/// How some rows are multiplied.
#[derive(Clone, Copy)]
pub(super) enum Method {
    Host(Compute),
    Row(&'static Variant<RowProducts>),
    Int8(&'static Variant<Int8Products>),
    F16(Blocks<MatMulF16F16F32>),
    F32(Blocks<MatMulF32F32F32>),
}

/// Rows of a block in int8 on the host, which stays in the first cache beside a panel.
const INT8_ROWS: usize = 32;
/// Rows up to which, on the host in f32, unpacking a panel again for every few rows beats writing it out once.
const FEW_ROWS: usize = 12;
/// Rows that an unpacked piece of a weight is multiplied with on a chip in int8 or f16, and in f32.
const CHIP_ROWS: [usize; 2] = [128, 48];
/// The least of those in int8 and in f16 with which they are in the scratchpad: for fewer rows a weight comes from memory, or is
/// written out, so often that it costs more than to read rows, or panels, from the second cache.
const STAGED_ROWS: [usize; 2] = [16, 48];

impl Engine {
    pub fn new(target: &Target, compute: Compute) -> Self {
        let on_chip = match compute {
            Compute::F32 => Blocks::new(target.core, select::f32_layout(target)).map(Kind::F32),
            Compute::Int8 => {
                let (core, layout) = (target.core, select::i8_layout(target));
                let row = select::matmul(core, layout);
                match select::nbits_f16_layout(target).and_then(|layout| Blocks::new(core, layout)) {
                    Some(blocks) => row.map(|row| Kind::F16(blocks, row)),
                    None => select::matmul(core, layout).map(|many| Kind::Int8(many, row)),
                }
            }
        };
        Self { kind: on_chip.unwrap_or(Kind::Host(compute)), tcm_bytes: target.tcm_bytes }
    }

    /// The order of the weights.
    pub fn layout(self) -> NBitsLayout {
        match self.kind {
            Kind::Host(_) => NBitsLayout::Host,
            Kind::Int8(variant, _) => groups::layout(variant),
            Kind::F16(_, variant) => groups::layout(variant),
            Kind::F32(_) => NBitsLayout::Packed(PackLayout::I8P32X1),
        }
    }

    /// How a product with `m` rows is computed, whatever part of them a rank has.
    pub(super) fn method(self, m: usize) -> Method {
        match self.kind {
            Kind::Host(compute) => Method::Host(compute),
            Kind::Int8(_, Some(row)) | Kind::F16(_, row) if m == 1 => Method::Row(row),
            Kind::Int8(variant, _) => Method::Int8(variant),
            Kind::F16(blocks, _) => Method::F16(blocks),
            Kind::F32(blocks) => Method::F32(blocks),
        }
    }

    /// Whether `m` rows are so many that the host engine better multiplies with panels in f32.
    pub(super) fn unpacks(self, m: usize) -> bool {
        matches!(self.kind, Kind::Host(Compute::F32)) && m > FEW_ROWS
    }

    /// Rows of a block of `m` rows that is multiplied with panels as they are, where `tiles` weights of `shape` are multiplied side
    /// by side.
    pub(super) fn block_rows(self, m: usize, shape: &NBitsShape, tiles: usize) -> usize {
        let most = match self.kind {
            Kind::Host(Compute::Int8) => INT8_ROWS,
            Kind::Host(Compute::F32) => FEW_ROWS,
            Kind::Int8(variant, _) => self.staged_rows(m, [STAGED_ROWS[0], variant.spec.block.m], shape, tiles),
            Kind::F16(blocks, _) => self.staged_rows(m, [STAGED_ROWS[1], blocks.grain()], shape, tiles),
            Kind::F32(_) => CHIP_ROWS[1],
        };
        most.min(m)
    }

    /// As many of `m` rows, in whole blocks, as fit the scratchpad with all that belongs to them, if those are not too few.
    fn staged_rows(self, m: usize, [least, grain]: [usize; 2], shape: &NBitsShape, tiles: usize) -> usize {
        let fits = |rows: &usize| {
            Left::scratch(self, shape, *rows) + tiles * Scratch::bytes::<f32>(rows * STRIP) <= self.tcm_bytes
        };
        let mut blocks = (least / grain..=m.min(CHIP_ROWS[0]).div_ceil(grain)).rev();
        blocks.find_map(|count| Some(count * grain).filter(fits)).unwrap_or(CHIP_ROWS[0])
    }

    /// Rows and panels of this rank. Ranks share the columns, and rows only where unpacking is not paid for each of them.
    pub(super) fn share(self, worker: &Worker<'_>, m: usize, shape: &NBitsShape) -> (Range<usize>, Range<usize>) {
        let row_grain = if matches!(self.kind, Kind::Host(Compute::F32)) { m.max(1) } else { INT8_ROWS };
        let layout = self.layout();
        ranks::Matrix { m, row_grain, panels: layout.panels(shape), panel: layout.panel().min(shape.n()), k: shape.k() }
            .share(worker)
    }

    /// Columns of a tile of `m` rows.
    pub(super) fn strip(self, m: usize) -> usize {
        if matches!(self.method(m), Method::Row(_)) { ROW_STRIP } else { STRIP }
    }

    /// Panels of a tile of [`STRIP`] columns.
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
impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Method::Host(compute) => compute.fmt(f),
            Method::Row(variant) => write!(f, "int8 by {}", variant.name),
            Method::Int8(variant) => write!(f, "int8 by {}", variant.name),
            Method::F16(blocks) => write!(f, "f16 by {}", blocks.name()),
            Method::F32(blocks) => write!(f, "f32 by {}", blocks.name()),
        }
    }
}
