use std::ops::Range;

use super::columns;
use super::filters::{self, Group};
use crate::driver::RunError;
use crate::isa::Target;
use crate::mem::Scratch;
use crate::ops::matmul::engine::{Engine as MatMulEngine, Left, Strip};
use crate::ops::window::Window;
use crate::pack::Rows;
use crate::rt::Worker;
use crate::select;

/// What multiplies blocks of filters with strips of windows.
#[derive(Clone, Copy)]
pub(super) struct Engine(MatMulEngine);

/// A rank's scratch: what a strip and a block of filters take.
pub(super) struct Buffers<'a> {
    /// The windows of a strip, each a column.
    pub columns: &'a mut [f32],
    packed_strip: &'a mut [f32],
    packed_rows: &'a mut [f32],
    pub tile: &'a mut [f32],
}

impl Engine {
    pub fn new(target: &Target) -> Self {
        Self(MatMulEngine::new(target.core, select::f32_layout(target)))
    }

    /// Name of the variant.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    pub fn is_host(self) -> bool {
        matches!(self.0, MatMulEngine::Host)
    }

    /// Positions of a strip.
    pub fn strip(self) -> usize {
        self.0.strip()
    }

    /// Filters of a block of a convolution.
    pub fn rows(self) -> usize {
        self.0.rows()
    }

    /// Filters of `taps` rows in a block of a transposed convolution.
    pub fn filters(self, taps: usize) -> usize {
        (self.rows() / taps.max(1)).max(1)
    }

    /// Numbers of `rows` packed filters.
    pub fn left_len(self, rows: usize, depth: usize) -> usize {
        self.0.left_len(rows, depth)
    }

    /// Packs filters, row-major `[rows, depth]`.
    pub fn pack(self, filters: &[f32], depth: usize, packed: &mut [f32]) {
        let rows = filters.len().checked_div(depth).unwrap_or(0);
        self.0.left(None, Rows::contiguous(filters, rows, depth), packed);
    }

    /// Bytes of [`Buffers`] for blocks of `rows` filters.
    pub fn scratch(self, rows: usize, depth: usize) -> usize {
        let lens = self.lens(rows, depth);
        lens.into_iter().map(Scratch::bytes::<f32>).sum()
    }

    pub fn buffers(self, scratch: &mut [u8], rows: usize, depth: usize) -> Buffers<'_> {
        let mut scratch = Scratch::new(scratch);
        let [columns, packed_strip, packed_rows, tile] = self.lens(rows, depth).map(|len| scratch.take(len));
        Buffers { columns, packed_strip, packed_rows, tile }
    }

    fn lens(self, rows: usize, depth: usize) -> [usize; 4] {
        let Self(engine) = self;
        [depth * engine.strip(), engine.right_len(depth), engine.left_len(rows, depth), engine.tile_len(rows)]
    }

    /// Calls `job` with what the windows at `positions`, a strip at most, see of `image` (`[channels, inputs]`), and with the
    /// other buffers.
    pub fn with_strip<R>(
        self,
        image: &[f32],
        window: &Window,
        positions: Range<usize>,
        depth: usize,
        buffers: &mut Buffers<'_>,
        job: impl FnOnce(&Strip<'_>, &mut [f32], &mut [f32]) -> R,
    ) -> R {
        let Buffers { columns, packed_strip, packed_rows, tile } = buffers;
        let rows = positions.len();
        let strip = if window.is_plain() {
            Rows { data: &image[positions.start..], rows, k: depth, strides: [1, window.positions()] }
        } else {
            let columns = &mut columns[..depth * rows];
            columns::gather(image, window, positions, 0.0, columns);
            Rows { data: columns, rows, k: depth, strides: [1, rows] }
        };
        self.0.with_strip(None, strip, packed_strip, |strip| job(&strip, packed_rows, tile))
    }

    /// `tile = group[rows] x strip` for a block of rows. Returns the numbers of a row of `tile`.
    pub fn multiply(
        self,
        worker: &Worker<'_>,
        group: Group<'_>,
        rows: Range<usize>,
        strip: &Strip<'_>,
        [columns, depth]: [usize; 2],
        [packed_rows, tile]: [&mut [f32]; 2],
    ) -> Result<usize, RunError> {
        let left = match (group, strip) {
            (Group::Host(packed), Strip::Host(panel)) => {
                panel.multiply_rows(packed, rows.start, &mut tile[..rows.len() * columns])?;
                return Ok(columns);
            }
            (Group::Host(_), _) => {
                return Err(RunError::Weights("the filters were packed for another engine".into()));
            }
            (Group::Blocks(packed, block), _) => Left::Blocks(filters::block(packed, self, &rows, depth, block)),
            (Group::Rows(plain), _) => {
                let part = &plain[rows.start * depth..rows.end * depth];
                self.0.left(Some(worker), Rows::contiguous(part, rows.len(), depth), packed_rows)
            }
        };
        self.0.multiply(worker, &left, strip, [rows.len(), columns, depth], 1.0, tile)
    }
}
