//! Blocks of a matrix product by a micro-kernel of a chip.

use std::fmt;
use std::ops::Range;

use crate::driver::RunError;
use crate::isa::CoreKind;
use crate::pack::{PackLayout, PackedWeights, Rows, pack_panel, panel_len};
use crate::rt::Worker;
use crate::table::{MatMulFamily, MatMulSpec, Variant};
use crate::tensor::Element;
use crate::ukr::MatMulArgs;
use crate::{select, vector};

/// Rows that read a panel of the right-hand side while it is in the first cache of a chip's core.
const ROWS: usize = 48;

/// A variant and what follows from its geometry.
pub(crate) struct Blocks<F: MatMulFamily> {
    variant: &'static Variant<F>,
    /// Numbers in four vector registers: the columns that are finished together.
    columns: usize,
}

impl<F: MatMulFamily> Clone for Blocks<F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F: MatMulFamily> Copy for Blocks<F> {}

impl<F: MatMulFamily> fmt::Debug for Blocks<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.variant.name)
    }
}

impl<F: MatMulFamily> Blocks<F> {
    /// The fastest variant for right-hand sides of `layout`; `None` when the host engine has them.
    pub fn new(core: CoreKind, layout: PackLayout) -> Option<Self> {
        let columns = 4 * core.isa().vlen / u32::BITS as usize;
        select::matmul(core, layout).map(|variant| Self { variant, columns })
    }

    fn spec(self) -> &'static MatMulSpec {
        &self.variant.spec
    }

    pub fn name(self) -> &'static str {
        self.variant.name
    }

    pub fn layout(self) -> PackLayout {
        self.spec().layout
    }

    /// Columns of a panel, the least that a rank takes.
    pub fn columns(self) -> usize {
        self.spec().layout.panel()
    }

    /// Rows of a block, of which a rank takes a multiple.
    pub fn grain(self) -> usize {
        self.spec().block.m
    }

    /// Rows that are packed and multiplied with every panel before the next rows.
    pub fn rows(self) -> usize {
        ROWS.next_multiple_of(self.grain())
    }

    /// Panels whose products stand side by side in a tile.
    pub fn panels(self) -> usize {
        (self.columns / self.columns()).max(1)
    }

    /// Rows that are written for `rows` rows.
    pub fn tile_rows(self, rows: usize) -> usize {
        rows.next_multiple_of(self.spec().tile.m)
    }

    /// Elements of `rows` packed rows.
    pub fn left_len(self, rows: usize, k: usize) -> usize {
        panel_len(self.tile_rows(rows), k, self.spec().tile.k)
    }

    /// Elements of a packed panel of the right-hand side.
    pub fn panel_len(self, k: usize) -> usize {
        panel_len(self.columns(), k, self.spec().tile.k)
    }

    /// Packs rows of the left-hand side, block by block; by the vectors of a worker's core where there is a worker.
    pub fn pack_left(self, worker: Option<&Worker<'_>>, rows: Rows<'_, F::A>, packed: &mut [F::A]) {
        let mut rest = &mut packed[..self.left_len(rows.rows, rows.k)];
        for (first, count) in self.blocks(rows.rows) {
            let width = self.tile_rows(count);
            let panel;
            (panel, rest) = rest.split_at_mut(panel_len(width, rows.k, self.spec().tile.k));
            pack(worker, rows.part(first, count), width, self.spec().tile.k, panel);
        }
    }

    /// Packs up to [`Blocks::columns`] columns of the right-hand side, which `columns` has as rows.
    pub fn pack_right(self, worker: Option<&Worker<'_>>, columns: Rows<'_, F::B>, panel: &mut [F::B]) {
        pack(worker, columns, self.columns(), self.spec().tile.k, &mut panel[..self.panel_len(columns.k)]);
    }

    /// `tile = left x panel` with `rows` packed rows; `tile` has [`Blocks::tile_rows`] rows of [`Blocks::columns`] numbers.
    ///
    /// # Panics
    /// When an operand is too short.
    pub fn multiply(self, worker: &Worker<'_>, left: &[F::A], panel: &[F::B], shape: [usize; 2], tile: &mut [F::C]) {
        self.multiply_into(worker, left, panel, shape, tile, self.columns());
    }

    /// `tile = left x weights` for the columns of `panels`, side by side; returns the numbers of a row of `tile`.
    ///
    /// # Errors
    /// Weights of another layout.
    ///
    /// # Panics
    /// When an operand is too short.
    pub fn multiply_panels(
        self,
        worker: &Worker<'_>,
        left: &[F::A],
        weights: &PackedWeights,
        panels: Range<usize>,
        shape: [usize; 2],
        tile: &mut [F::C],
    ) -> Result<usize, RunError> {
        let width = panels.len() * self.columns();
        for (at, index) in panels.enumerate() {
            let panel = weights.panel(self.layout(), index)?;
            self.multiply_into(worker, left, panel, shape, &mut tile[at * self.columns()..], width);
        }
        Ok(width)
    }

    /// [`Blocks::multiply`] to rows that are `stride` numbers apart.
    ///
    /// # Panics
    /// When an operand is too short.
    pub fn multiply_into(
        self,
        worker: &Worker<'_>,
        left: &[F::A],
        panel: &[F::B],
        [rows, k]: [usize; 2],
        to: &mut [F::C],
        stride: usize,
    ) {
        let (columns, k_group) = (self.columns(), self.spec().tile.k);
        assert_eq!(panel.len(), self.panel_len(k), "length of a panel");
        assert!(stride >= columns, "distance of rows");
        let kernel = select::arm(self.variant, worker);
        let mut left = &left[..self.left_len(rows, k)];
        for (first, count) in self.blocks(rows) {
            let count = self.tile_rows(count);
            let block;
            (block, left) = left.split_at(panel_len(count, k, k_group));
            let to = &mut to[first * stride..(first + count - 1) * stride + columns];
            let args = MatMulArgs {
                a: block.as_ptr(),
                b: panel.as_ptr(),
                c: to.as_mut_ptr(),
                c_stride: stride * size_of::<F::C>(),
                k_groups: k.div_ceil(k_group),
                rows: count,
            };
            // SAFETY: the slices hold the block, the panel and the rows that `args` names, `count` is a multiple of the
            // tile's rows within the block's, and `to` is ours alone.
            unsafe { kernel.call(&args) };
        }
    }

    /// First row and number of rows of each block.
    fn blocks(self, rows: usize) -> impl Iterator<Item = (usize, usize)> {
        let grain = self.grain();
        (0..rows).step_by(grain).map(move |first| (first, grain.min(rows - first)))
    }
}

/// [`pack_panel`], where it is a transpose by the vectors of the worker's core if there are any.
fn pack<T: Element>(worker: Option<&Worker<'_>>, rows: Rows<'_, T>, width: usize, k_group: usize, panel: &mut [T]) {
    let Rows { data, rows: count, k, strides: [stride, depth_stride] } = rows;
    let is_transpose = count == width && k_group == 1 && depth_stride == 1 && stride > 1;
    if let Some(worker) = worker.filter(|_| is_transpose) {
        assert_eq!(panel.len(), panel_len(width, k, k_group), "length of a panel");
        if vector::transpose(worker, data, stride, panel, width, [k, width]) {
            return;
        }
    }
    pack_panel(rows, width, k_group, panel);
}
