use std::ops::Range;

use rten_tensor::prelude::*;
use rten_tensor::{Matrix, Storage};

use crate::driver::RunError;
use crate::host;
use crate::isa::Target;
use crate::pack::{PackedWeights, panel_len};
use crate::select;
use crate::table::{MATMUL_F32_F32_F32, Variant};
use crate::ukr::matmul_f32_f32_f32::{Args, MatMulF32F32F32};

/// What multiplies a strip of columns with a block of rows.
#[derive(Clone, Copy)]
pub(super) enum Engine {
    Host,
    /// Blocks of this variant.
    Blocks(&'static Variant<MatMulF32F32F32>),
}

/// Rows of a block of the host engine: two of `rten`'s row blocks, each of eleven tiles of six.
pub(super) const HOST_ROWS: usize = 132;
/// A multiple of the rows of `rten`'s f32 tiles.
pub(super) const HOST_GRAIN: usize = 6;
/// Rows that read a strip while it is in the cache of a chip's core.
const CHIP_ROWS: usize = 48;

impl Engine {
    pub fn new(target: &Target, weights: &PackedWeights) -> Self {
        select::matmul_f32(target.core, weights.layout()).map_or(Self::Host, Self::Blocks)
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

    /// Rows that are multiplied with a strip before the next strip.
    pub fn rows(self) -> usize {
        match self {
            Self::Host => HOST_ROWS,
            Self::Blocks(variant) => CHIP_ROWS.next_multiple_of(variant.block.m),
        }
    }

    /// `tile = alpha * a x B[.., columns]`; returns the columns of a row of `tile`, at least as many as asked for.
    pub fn multiply(
        self,
        weights: &PackedWeights,
        a: Matrix<'_, f32>,
        columns: &Range<usize>,
        alpha: f32,
        tile: &mut [f32],
    ) -> Result<usize, RunError> {
        match self {
            Self::Host => {
                let panel = weights.host_f32()?.panel(columns.start / host::PANEL);
                panel.multiply(a, alpha, &mut tile[..a.size(0) * columns.len()])?;
                Ok(columns.len())
            }
            Self::Blocks(variant) => blocks(variant, weights, a, columns, alpha, tile),
        }
    }
}

fn blocks(
    variant: &'static Variant<MatMulF32F32F32>,
    weights: &PackedWeights,
    a: Matrix<'_, f32>,
    columns: &Range<usize>,
    alpha: f32,
    tile: &mut [f32],
) -> Result<usize, RunError> {
    let (m, k, width) = (a.size(0), a.size(1), variant.block.n);
    let panel_len = panel_len(variant.tile.n, k, variant.tile.k);
    let column_panels = columns.len().div_ceil(variant.tile.n);
    let first = columns.start / variant.tile.n;
    let panels = &weights.panels::<f32>(variant.layout)?[first * panel_len..(first + column_panels) * panel_len];
    let tile = &mut tile[..m * width];
    let run = select::runnable(MATMUL_F32_F32_F32, variant).run;
    for start in (0..m).step_by(variant.block.m) {
        let rows = start..(start + variant.block.m).min(m);
        let args = Args {
            a: a.slice((rows.clone(), ..)).storage().as_ptr(),
            a_row_stride: a.stride(0) * size_of::<f32>(),
            a_k_stride: a.stride(1) * size_of::<f32>(),
            b: panels.as_ptr(),
            b_stride: panel_len * size_of::<f32>(),
            c: tile[start * width..].as_mut_ptr(),
            c_stride: width * size_of::<f32>(),
            k,
            rows: rows.len(),
            column_panels,
        };
        // SAFETY: `a` has these rows and `k` columns at its strides, `panels` is `column_panels` panels long, and `tile` has
        // `m` rows of `width` numbers, of which these are ours alone. `runnable` chose what this core can run.
        unsafe { run(&args) };
    }
    if alpha != 1.0 {
        tile.iter_mut().for_each(|sum| *sum *= alpha);
    }
    Ok(width)
}
