//! Blocks of a matrix product by a micro-kernel of a chip.

mod cuts;
mod pack;

use std::fmt;
use std::ops::Range;

use crate::driver::RunError;
use crate::isa::CoreKind;
use crate::pack::{PackLayout, PackedWeights, Rows, panel_len};
use crate::rt::Worker;
use crate::select;
use crate::table::{Armed, MatMulFamily, MatMulSpec, Variant};
use crate::ukr::MatMulArgs;
use cuts::{Cuts, LEFT, ROWS, STAYS};
use pack::pack;

/// A variant and what follows from its geometry.
pub(crate) struct Blocks<F: MatMulFamily> {
    variant: &'static Variant<F>,
    cuts: Cuts,
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
        select::matmul(core, layout).map(|variant| Self { variant, cuts: Cuts::of(core) })
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

    /// Rows that are packed and multiplied with a panel that was packed for them.
    pub fn rows(self) -> usize {
        ROWS.next_multiple_of(self.grain())
    }

    /// Rows that are packed and multiplied with every panel of constant weights of `[k, n]` before the next rows.
    pub fn rows_of(self, [k, n]: [usize; 2]) -> usize {
        if k * n * size_of::<F::B>() <= STAYS {
            return self.rows();
        }
        let rows = LEFT / (k * size_of::<F::A>());
        (rows - rows % self.grain()).max(self.rows())
    }

    /// Panels whose products stand side by side in a tile.
    pub fn panels(self) -> usize {
        (self.cuts.columns / self.columns()).max(1)
    }

    /// Parts of a depth, which are summed one after the other.
    fn parts(self, k: usize) -> usize {
        let depth = self.cuts.right / (self.panels() * self.columns() * size_of::<F::B>());
        k.div_ceil(depth).max(1)
    }

    /// Numbers that [`Blocks::multiply_panels`] needs for `rows` rows.
    pub fn sums_len(self, rows: usize, k: usize) -> usize {
        let rows = if self.parts(k) > 1 { rows } else { rows.min(self.rows()) };
        self.tile_rows(rows) * self.panels() * self.columns()
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
        for (first, count) in self.blocks(0..rows.rows) {
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

    /// `left x weights` for the columns of `panels`, side by side. Some rows after the other are ready: `finish` is told which,
    /// and gets their sums, as many in a row as the panels have columns.
    ///
    /// # Errors
    /// Weights of another layout.
    ///
    /// # Panics
    /// When an operand is too short; `sums` has [`Blocks::sums_len`] numbers.
    pub fn multiply_panels(
        self,
        worker: &Worker<'_>,
        (left, rows): (&[F::A], usize),
        (weights, panels): (&PackedWeights, Range<usize>),
        sums: &mut [F::C],
        mut finish: impl FnMut(Range<usize>, &mut [F::C]),
    ) -> Result<(), RunError> {
        let (k, k_group) = (weights.k(), self.spec().tile.k);
        let (parts, groups, width) = (self.parts(k), k.div_ceil(k_group), panels.len() * self.columns());
        let kernel = select::arm(self.variant, worker);
        for part in 0..parts {
            let depth = groups * part / parts..groups * (part + 1) / parts;
            let take = |from: usize, rows: usize| {
                let start = from * groups * k_group + depth.start * rows * k_group;
                &left[start..start + depth.len() * rows * k_group]
            };
            for first in (0..rows).step_by(self.rows()) {
                let some = first..(first + self.rows()).min(rows);
                let tile = if parts > 1 { &mut sums[first * width..] } else { &mut *sums };
                for (at, index) in panels.clone().enumerate() {
                    let panel: &[F::B] = weights.panel(self.layout(), index)?;
                    let panel = &panel[depth.start * k_group * self.columns()..depth.end * k_group * self.columns()];
                    for (row, count) in self.blocks(some.clone()) {
                        let rows_here = self.tile_rows(count);
                        let block = take(row, rows_here);
                        let c = &mut tile[(row - first) * width + at * self.columns()..];
                        let call = Call { rows: rows_here, block, panel, c, stride: width, accumulate: part > 0 };
                        self.call(&kernel, call);
                    }
                }
                if part + 1 == parts {
                    finish(some, tile);
                }
            }
        }
        Ok(())
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
        assert_eq!(panel.len(), self.panel_len(k), "length of a panel");
        let kernel = select::arm(self.variant, worker);
        let mut left = &left[..self.left_len(rows, k)];
        for (first, count) in self.blocks(0..rows) {
            let (rows, c) = (self.tile_rows(count), &mut to[first * stride..]);
            let block;
            (block, left) = left.split_at(panel_len(rows, k, self.spec().tile.k));
            self.call(&kernel, Call { rows, block, panel, c, stride, accumulate: false });
        }
    }

    /// Calls the micro-kernel.
    fn call(self, kernel: &Armed<'_, F>, call: Call<'_, F>) {
        let Call { rows, block, panel, c, stride, accumulate } = call;
        let columns = self.columns();
        assert!(stride >= columns && c.len() >= (rows - 1) * stride + columns, "rows of sums");
        assert!(block.len() * columns == panel.len() * rows);
        let args = MatMulArgs {
            a: block.as_ptr(),
            b: panel.as_ptr(),
            c: c.as_mut_ptr(),
            c_stride: stride * size_of::<F::C>(),
            k_groups: panel.len() / (columns * self.spec().tile.k),
            rows,
            accumulate,
        };
        // SAFETY: the slices hold the block, the panel and the rows as the assertions say; `rows` is a multiple of
        // the tile's rows within the block's, and `c` is ours alone.
        unsafe { kernel.call(&args) };
    }

    /// First row and number of rows of each block.
    fn blocks(self, rows: Range<usize>) -> impl Iterator<Item = (usize, usize)> {
        let (grain, end) = (self.grain(), rows.end);
        rows.step_by(grain).map(move |first| (first, grain.min(end - first)))
    }
}

/// A block of rows, a panel and where their sums go.
struct Call<'a, F: MatMulFamily> {
    /// Those of the block, padding included.
    rows: usize,
    block: &'a [F::A],
    panel: &'a [F::B],
    c: &'a mut [F::C],
    /// Numbers from one row of `c` to the next.
    stride: usize,
    accumulate: bool,
}
