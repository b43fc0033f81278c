use std::ops::Range;

use half::f16;

use super::operand::columns;
pub(in crate::ops) use super::operand::{Left, Strip};
use crate::driver::RunError;
use crate::host::{self, F32Panel};
use crate::isa::CoreKind;
use crate::ops::blocks::Blocks;
use crate::pack::{PackLayout, PackedWeights, Rows};
use crate::rt::Worker;
use crate::ukr::binary_f32::Function;
use crate::ukr::matmul_f16_f16_f32::MatMulF16F16F32;
use crate::ukr::matmul_f32_f32_f32::MatMulF32F32F32;
use crate::vector;

/// What multiplies a strip of columns with a block of rows.
#[derive(Clone, Copy)]
pub(in crate::ops) enum Engine {
    Host,
    Blocks(Blocks<MatMulF32F32F32>),
    /// Both operands are f16.
    Half(Blocks<MatMulF16F16F32>),
}

/// Rows of a block of the host engine: two of `rten`'s row blocks, each of eleven tiles of six.
const HOST_ROWS: usize = 132;
/// A multiple of the rows of `rten`'s f32 tiles.
const HOST_GRAIN: usize = 6;

impl Engine {
    pub fn new(core: CoreKind, layout: PackLayout) -> Self {
        let half = || Blocks::new(core, layout).map_or(Self::Host, Self::Half);
        Blocks::new(core, layout).map_or_else(half, Self::Blocks)
    }

    /// Name of the variant.
    pub fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Blocks(blocks) => blocks.name(),
            Self::Half(blocks) => blocks.name(),
        }
    }

    /// Columns of a strip: the least that a rank takes.
    pub fn strip(self) -> usize {
        match self {
            Self::Host => host::PANEL,
            Self::Blocks(blocks) => blocks.columns(),
            Self::Half(blocks) => blocks.columns(),
        }
    }

    /// Rows of a block, of which a rank takes a multiple.
    pub fn grain(self) -> usize {
        match self {
            Self::Host => HOST_GRAIN,
            Self::Blocks(blocks) => blocks.grain(),
            Self::Half(blocks) => blocks.grain(),
        }
    }

    /// Of `m` rows of `k` numbers, those that are packed and multiplied with every constant strip before the next rows.
    pub fn rows_of(self, m: usize, k: usize) -> usize {
        match self {
            Self::Host => HOST_ROWS.min(m),
            Self::Blocks(blocks) => blocks.rows_of(m, k),
            Self::Half(blocks) => blocks.rows_of(m, k),
        }
    }

    /// Numbers that [`Engine::multiply_strips`] needs for `rows` rows.
    pub fn sums_len(self, rows: usize) -> usize {
        match self {
            Self::Host => rows * self.strip(),
            Self::Blocks(blocks) => blocks.sums_len(rows),
            Self::Half(blocks) => blocks.sums_len(rows),
        }
    }

    /// Rows that are packed and multiplied with a strip that was packed for them.
    pub fn rows(self) -> usize {
        match self {
            Self::Host => HOST_ROWS,
            Self::Blocks(blocks) => blocks.rows(),
            Self::Half(blocks) => blocks.rows(),
        }
    }

    /// Numbers in a tile of one strip for `rows` rows.
    pub fn tile_len(self, rows: usize) -> usize {
        match self {
            Self::Host => rows * self.strip(),
            Self::Blocks(blocks) => blocks.tile_rows(rows) * self.strip(),
            Self::Half(blocks) => blocks.tile_rows(rows) * self.strip(),
        }
    }

    /// Numbers that packing `rows` rows needs.
    pub fn left_len(self, rows: usize, k: usize) -> usize {
        match self {
            Self::Host => 0,
            Self::Blocks(blocks) => blocks.left_len(rows, k),
            Self::Half(blocks) => blocks.left_len(rows, k).div_ceil(2),
        }
    }

    /// Numbers that packing a strip needs.
    pub fn right_len(self, k: usize) -> usize {
        match self {
            Self::Host | Self::Half(_) => 0,
            Self::Blocks(blocks) => blocks.panel_len(k),
        }
    }

    /// Rows of an f32 left-hand side, packed by a worker or before there is one.
    pub fn left<'a>(self, worker: Option<&Worker<'_>>, rows: Rows<'a, f32>, packed: &'a mut [f32]) -> Left<'a> {
        match self {
            Self::Host | Self::Half(_) => Left::Host(host::matrix(rows.data, [rows.rows, rows.k], rows.strides)),
            Self::Blocks(blocks) => {
                blocks.pack_left(worker, rows, packed);
                Left::Blocks(packed)
            }
        }
    }

    /// Rows of an f16 left-hand side, for the engine that reads them.
    pub fn left_half<'a>(self, worker: &Worker<'_>, rows: Rows<'a, f16>, packed: &'a mut [f32]) -> Left<'a> {
        let packed: &mut [f16] = bytemuck::cast_slice_mut(packed);
        if let Self::Half(blocks) = self {
            blocks.pack_left(Some(worker), rows, packed);
        }
        Left::Half(packed)
    }

    /// Strip `index` of `weights`.
    pub fn strip_of(self, weights: &PackedWeights, index: usize) -> Result<Strip<'_>, RunError> {
        match self {
            Self::Host => Ok(Strip::Host(weights.host_f32()?.panel(index))),
            Self::Blocks(blocks) => Ok(Strip::Blocks(weights.panel(blocks.layout(), index)?)),
            Self::Half(blocks) => Ok(Strip::Half(weights.panel(blocks.layout(), index)?)),
        }
    }

    /// Calls `job` with a strip packed from `columns`, which has them as rows.
    pub fn with_strip<R>(
        self,
        worker: Option<&Worker<'_>>,
        columns: Rows<'_, f32>,
        packed: &mut [f32],
        job: impl FnOnce(Strip<'_>) -> R,
    ) -> R {
        match self {
            Self::Host | Self::Half(_) => {
                let [column, depth] = columns.strides;
                let b = host::matrix(columns.data, [columns.k, columns.rows], [depth, column]);
                let panel = F32Panel::pack_again(b);
                let result = job(Strip::Host(&panel));
                panel.give_back();
                result
            }
            Self::Blocks(blocks) => {
                blocks.pack_right(worker, columns, packed);
                job(Strip::Blocks(&packed[..blocks.panel_len(columns.k)]))
            }
        }
    }

    /// `alpha * left x weights` for `rows` rows and the columns of `strips`. Those of some strips after the other are ready:
    /// `finish` is told which, and gets the sums and how many there are in a row, at least as many as columns.
    pub fn multiply_strips(
        self,
        worker: &Worker<'_>,
        (left, rows): (&Left<'_>, usize),
        (weights, strips): (&PackedWeights, Range<usize>),
        alpha: f32,
        sums: &mut [f32],
        mut finish: impl FnMut(Range<usize>, &[f32], usize),
    ) -> Result<(), RunError> {
        let scaled = |strips: Range<usize>, sums: &mut [f32]| {
            let width = strips.len() * self.strip();
            scale(worker, alpha, &mut sums[..rows * width]);
            finish(strips, sums, width);
        };
        let right = (weights, strips.clone());
        match (self, left) {
            (Self::Blocks(blocks), Left::Blocks(left)) => {
                blocks.multiply_panels(worker, (left, rows), right, sums, scaled)
            }
            (Self::Half(blocks), Left::Half(left)) => blocks.multiply_panels(worker, (left, rows), right, sums, scaled),
            _ => strips.into_iter().try_for_each(|index| {
                let columns = columns(self.strip(), index, weights.n()).len();
                let strip = self.strip_of(weights, index)?;
                let width = self.multiply(worker, left, &strip, [rows, columns, weights.k()], alpha, sums)?;
                finish(index..index + 1, sums, width);
                Ok(())
            }),
        }
    }

    /// `tile = alpha * left x strip`, where the strip has `columns`; returns the numbers of a row of `tile`, at least as many.
    pub fn multiply(
        self,
        worker: &Worker<'_>,
        left: &Left<'_>,
        strip: &Strip<'_>,
        [rows, columns, k]: [usize; 3],
        alpha: f32,
        tile: &mut [f32],
    ) -> Result<usize, RunError> {
        match (self, left, strip) {
            (Self::Host, Left::Host(a), Strip::Host(panel)) => {
                panel.multiply(a.view(), alpha, &mut tile[..rows * columns])?;
                Ok(columns)
            }
            (Self::Blocks(blocks), Left::Blocks(left), Strip::Blocks(panel)) => {
                let tile = &mut tile[..self.tile_len(rows)];
                blocks.multiply(worker, left, panel, [rows, k], tile);
                scale(worker, alpha, tile);
                Ok(blocks.columns())
            }
            (Self::Half(blocks), Left::Half(left), Strip::Half(panel)) => {
                let tile = &mut tile[..self.tile_len(rows)];
                blocks.multiply(worker, left, panel, [rows, k], tile);
                scale(worker, alpha, tile);
                Ok(blocks.columns())
            }
            _ => Err(RunError::Weights("the operands were packed for another engine".into())),
        }
    }
}

fn scale(worker: &Worker<'_>, alpha: f32, tile: &mut [f32]) {
    if alpha == 1.0 {
        return;
    }
    match vector::Binary::new(worker, Function::Mul) {
        Some(multiply) => multiply.map_in_place(tile, &[alpha]),
        None => tile.iter_mut().for_each(|sum| *sum *= alpha),
    }
}
