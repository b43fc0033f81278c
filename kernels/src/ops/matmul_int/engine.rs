use std::ops::Range;

use crate::driver::RunError;
use crate::host::{self, I8Panel, Rows as HostRows};
use crate::isa::CoreKind;
use crate::ops::blocks::Blocks;
use crate::pack::{PackLayout, PackedWeights, Rows};
use crate::rt::Worker;
use crate::ukr::matmul_u8_i8_i32::MatMulU8I8I32;

/// What multiplies a strip of columns with a block of rows.
#[derive(Clone, Copy)]
pub(in crate::ops) enum Engine {
    Host,
    Blocks(Blocks<MatMulU8I8I32>),
}

/// Rows of the left-hand side as an engine reads them.
pub(in crate::ops) enum Left<'a> {
    Host(HostRows),
    Blocks(&'a [u8]),
}

/// A strip of columns of the right-hand side as an engine reads it.
pub(in crate::ops) enum Strip<'a> {
    Host(&'a I8Panel),
    Blocks(&'a [i8]),
}

impl Strip<'_> {
    /// Whether it is multiplied with halved rows.
    pub fn halved(&self) -> bool {
        match self {
            Self::Host(panel) => panel.halved(),
            Self::Blocks(_) => false,
        }
    }
}

impl Left<'_> {
    /// Lets the next rows use the same memory.
    pub fn give_back(self) {
        if let Self::Host(rows) = self {
            rows.give_back();
        }
    }
}

/// Rows of a block of the host engine: two of `rten`'s row blocks.
const HOST_ROWS: usize = 128;
/// Rows of `rten`'s u8 tiles.
const HOST_GRAIN: usize = 8;

impl Engine {
    pub fn new(core: CoreKind, layout: PackLayout) -> Self {
        Blocks::new(core, layout).map_or(Self::Host, Self::Blocks)
    }

    /// Name of the variant.
    pub fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Blocks(blocks) => blocks.name(),
        }
    }

    /// Columns of a strip: the least that a rank takes.
    pub fn strip(self) -> usize {
        match self {
            Self::Host => host::PANEL,
            Self::Blocks(blocks) => blocks.columns(),
        }
    }

    /// Rows of a block, of which a rank takes a multiple.
    pub fn grain(self) -> usize {
        match self {
            Self::Host => HOST_GRAIN,
            Self::Blocks(blocks) => blocks.grain(),
        }
    }

    /// Of `m` rows of `k` numbers, those that are packed and multiplied with every constant strip before the next rows.
    pub fn rows_of(self, m: usize, k: usize) -> usize {
        match self {
            Self::Host => HOST_ROWS.min(m),
            Self::Blocks(blocks) => blocks.rows_of(m, k),
        }
    }

    /// Numbers that [`Engine::multiply_strips`] needs for `rows` rows.
    pub fn sums_len(self, rows: usize) -> usize {
        match self {
            Self::Host => rows * self.strip(),
            Self::Blocks(blocks) => blocks.sums_len(rows),
        }
    }

    /// Rows that are packed and multiplied with a strip that was packed for them.
    pub fn rows(self) -> usize {
        match self {
            Self::Host => HOST_ROWS,
            Self::Blocks(blocks) => blocks.rows(),
        }
    }

    /// Numbers in a tile of one strip for `rows` rows.
    pub fn tile_len(self, rows: usize) -> usize {
        match self {
            Self::Host => rows * self.strip(),
            Self::Blocks(blocks) => blocks.tile_rows(rows) * self.strip(),
        }
    }

    /// Bytes that packing `rows` rows needs.
    pub fn left_len(self, rows: usize, k: usize) -> usize {
        match self {
            Self::Host => rows * k,
            Self::Blocks(blocks) => blocks.left_len(rows, k),
        }
    }

    /// Bytes that packing a strip needs.
    pub fn right_len(self, k: usize) -> usize {
        match self {
            Self::Host => 0,
            Self::Blocks(blocks) => blocks.panel_len(k),
        }
    }

    /// Packs `a`, row-major `[rows, k]`; `halved` when a strip that it is to be multiplied with says so.
    pub fn left<'a>(
        self,
        worker: &Worker<'_>,
        halved: bool,
        a: &[u8],
        [rows, k]: [usize; 2],
        packed: &'a mut [u8],
    ) -> Left<'a> {
        match self {
            Self::Host => Left::Host(HostRows::pack(a, k, halved, packed)),
            Self::Blocks(blocks) => {
                blocks.pack_left(Some(worker), Rows::contiguous(a, rows, k), packed);
                Left::Blocks(packed)
            }
        }
    }

    /// Whether some strip of `weights` wants halved rows.
    pub fn halved(self, weights: &PackedWeights) -> Result<bool, RunError> {
        match self {
            Self::Host => Ok(weights.host_i8()?.halved()),
            Self::Blocks(_) => Ok(false),
        }
    }

    /// Strip `index` of `weights`.
    pub fn strip_of(self, weights: &PackedWeights, index: usize) -> Result<Strip<'_>, RunError> {
        match self {
            Self::Host => Ok(Strip::Host(weights.host_i8()?.panel(index))),
            Self::Blocks(blocks) => Ok(Strip::Blocks(weights.panel(blocks.layout(), index)?)),
        }
    }

    /// Calls `job` with a strip packed from `columns`, which has them as rows.
    pub fn with_strip<R>(
        self,
        worker: Option<&Worker<'_>>,
        columns: Rows<'_, i8>,
        packed: &mut [i8],
        job: impl FnOnce(Strip<'_>) -> R,
    ) -> R {
        match self {
            Self::Host => {
                let [column, depth] = columns.strides;
                let b = host::matrix(columns.data, [columns.k, columns.rows], [depth, column]);
                let panel = I8Panel::pack_again(b);
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

    /// `left x weights` for `rows` rows and the columns of `strips`. Those of some strips after the other are ready: `finish` is told
    /// which, and gets the sums and how many there are in a row, at least as many as columns.
    pub fn multiply_strips(
        self,
        worker: &Worker<'_>,
        (left, rows): (&Left<'_>, usize),
        (weights, strips): (&PackedWeights, Range<usize>),
        sums: &mut [i32],
        mut finish: impl FnMut(Range<usize>, &[i32], usize),
    ) -> Result<(), RunError> {
        match (self, left) {
            (Self::Blocks(blocks), Left::Blocks(left)) => {
                let finish = |strips: Range<usize>, sums: &mut [i32]| {
                    let width = strips.len() * self.strip();
                    finish(strips, sums, width);
                };
                blocks.multiply_panels(worker, (left, rows), (weights, strips), sums, finish)
            }
            _ => strips.into_iter().try_for_each(|index| {
                let columns = self.strip().min(weights.n() - index * self.strip());
                let strip = self.strip_of(weights, index)?;
                let width = self.multiply(worker, left, &strip, [rows, columns, weights.k()], sums)?;
                finish(index..index + 1, sums, width);
                Ok(())
            }),
        }
    }

    /// `tile = left x strip`, where the strip has `columns`; returns the numbers of a row of `tile`, at least as many.
    pub fn multiply(
        self,
        worker: &Worker<'_>,
        left: &Left<'_>,
        strip: &Strip<'_>,
        [rows, columns, k]: [usize; 3],
        tile: &mut [i32],
    ) -> Result<usize, RunError> {
        match (self, left, strip) {
            (Self::Host, Left::Host(a), Strip::Host(panel)) => {
                panel.multiply(a, &mut tile[..rows * columns])?;
                Ok(columns)
            }
            (Self::Blocks(blocks), Left::Blocks(left), Strip::Blocks(panel)) => {
                blocks.multiply(worker, left, panel, [rows, k], &mut tile[..self.tile_len(rows)]);
                Ok(blocks.columns())
            }
            _ => Err(RunError::Weights("the operands were packed for another engine".into())),
        }
    }
}
