use std::ops::Range;

use crate::driver::RunError;
use crate::host::{self, Rows};
use crate::isa::Target;
use crate::pack::{PackedWeights, pack_rows, panel_len};
use crate::select;
use crate::table::{MATMUL_U8_I8_I32, Variant};
use crate::ukr::matmul_u8_i8_i32::{Args, MatMulU8I8I32};

/// What multiplies a strip of columns with a block of rows.
#[derive(Clone, Copy)]
pub(super) enum Engine {
    Host,
    /// Blocks of this variant.
    Blocks(&'static Variant<MatMulU8I8I32>),
}

/// Rows of a left-hand side in the order of an engine.
pub(super) enum Packed<'a> {
    Host(Rows),
    Blocks { rows: usize, panels: &'a [u8] },
}

impl Packed<'_> {
    /// Lets the next rows use the same memory.
    pub fn give_back(self) {
        if let Self::Host(rows) = self {
            rows.give_back();
        }
    }
}

/// Rows of a block of the host engine: two of `rten`'s row blocks.
pub(super) const HOST_ROWS: usize = 128;
/// Rows of `rten`'s u8 tiles.
pub(super) const HOST_GRAIN: usize = 8;
/// Rows that read a strip while it is in the cache of a chip's core.
const CHIP_ROWS: usize = 48;

impl Engine {
    pub fn new(target: &Target, weights: &PackedWeights) -> Self {
        select::matmul_int(target.core, weights.layout()).map_or(Self::Host, Self::Blocks)
    }

    /// Name of the variant.
    pub fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Blocks(variant) => variant.name,
        }
    }

    /// Columns of a strip: the least that a rank takes.
    pub fn strip(self) -> usize {
        match self {
            Self::Host => host::PANEL,
            Self::Blocks(variant) => variant.block.n,
        }
    }

    /// Rows of a block, of which a rank takes a multiple.
    pub fn grain(self) -> usize {
        match self {
            Self::Host => HOST_GRAIN,
            Self::Blocks(variant) => variant.block.m,
        }
    }

    /// Rows that are packed and multiplied with all strips before the next rows.
    pub fn rows(self) -> usize {
        match self {
            Self::Host => HOST_ROWS,
            Self::Blocks(variant) => CHIP_ROWS.next_multiple_of(variant.block.m),
        }
    }

    /// Numbers in a tile of sums for `rows` rows.
    pub fn tile_len(self, rows: usize) -> usize {
        rows.next_multiple_of(self.grain()) * self.strip()
    }

    /// Bytes that packing `rows` rows needs.
    pub fn stage_len(self, weights: &PackedWeights, rows: usize) -> usize {
        match self {
            Self::Host => {
                let halved = weights.host_i8().is_ok_and(|panels| panels.halved());
                if halved { rows * weights.k() } else { 0 }
            }
            Self::Blocks(variant) => rows.div_ceil(variant.tile.m) * a_panel_len(variant, weights.k()),
        }
    }

    /// Packs `a` (row-major `[rows, k]`).
    pub fn pack<'a>(self, weights: &PackedWeights, a: &[u8], stage: &'a mut [u8]) -> Result<Packed<'a>, RunError> {
        let k = weights.k();
        match self {
            Self::Host => Ok(Packed::Host(Rows::pack(a, k, weights.host_i8()?.halved(), stage))),
            Self::Blocks(variant) => {
                let rows = a.len().checked_div(k).unwrap_or(0);
                let panels = &mut stage[..rows.div_ceil(variant.tile.m) * a_panel_len(variant, k)];
                pack_rows(a, k, variant.tile, panels);
                Ok(Packed::Blocks { rows, panels })
            }
        }
    }

    /// `tile = a x B[.., columns]`; returns the columns of a row of `tile`, at least as many as asked for.
    pub fn multiply(
        self,
        weights: &PackedWeights,
        a: &Packed<'_>,
        rows: usize,
        columns: &Range<usize>,
        tile: &mut [i32],
    ) -> Result<usize, RunError> {
        match (self, a) {
            (Self::Host, Packed::Host(a)) => {
                let panel = weights.host_i8()?.panel(columns.start / host::PANEL);
                panel.multiply(a, &mut tile[..rows * columns.len()])?;
                Ok(columns.len())
            }
            (Self::Blocks(variant), Packed::Blocks { rows: packed, panels }) => {
                if *packed == 0 {
                    tile.fill(0);
                } else {
                    blocks(variant, weights, panels, rows, columns, tile)?;
                }
                Ok(variant.block.n)
            }
            _ => Err(RunError::Weights("the left-hand side was packed for another engine".into())),
        }
    }
}

fn a_panel_len(variant: &Variant<MatMulU8I8I32>, k: usize) -> usize {
    panel_len(variant.tile.m, k, variant.tile.k)
}

fn blocks(
    variant: &'static Variant<MatMulU8I8I32>,
    weights: &PackedWeights,
    a: &[u8],
    rows: usize,
    columns: &Range<usize>,
    tile: &mut [i32],
) -> Result<(), RunError> {
    let (k, width) = (weights.k(), variant.block.n);
    let (a_stride, b_stride) = (a_panel_len(variant, k), panel_len(variant.tile.n, k, variant.tile.k));
    let column_panels = columns.len().div_ceil(variant.tile.n);
    let first = columns.start / variant.tile.n;
    let b = &weights.panels::<i8>(variant.layout)?[first * b_stride..(first + column_panels) * b_stride];
    let run = select::runnable(MATMUL_U8_I8_I32, variant).run;
    let all_panels = rows.div_ceil(variant.tile.m);
    for panel in (0..all_panels).step_by(variant.block.m / variant.tile.m) {
        let row_panels = (variant.block.m / variant.tile.m).min(all_panels - panel);
        let args = Args {
            a: a[panel * a_stride..(panel + row_panels) * a_stride].as_ptr(),
            a_stride,
            b: b.as_ptr(),
            b_stride,
            c: tile[panel * variant.tile.m * width..(panel + row_panels) * variant.tile.m * width].as_mut_ptr(),
            c_stride: width * size_of::<i32>(),
            k_groups: k.div_ceil(variant.tile.k),
            row_panels,
            column_panels,
        };
        // SAFETY: the slices above hold all panels and rows that `args` names, and `tile` is ours alone. `runnable` chose
        // what this core can run.
        unsafe { run(&args) };
    }
    Ok(())
}
