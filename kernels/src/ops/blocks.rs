//! Blocks of a matrix product by a micro-kernel of a chip.

mod cuts;
mod finish;
mod multiply;
mod pack;
mod walk;

use std::fmt;
use std::ops::Range;

use crate::isa::CoreKind;
use crate::pack::{PackLayout, Rows, panel_len};
use crate::rt::Worker;
use crate::select;
use crate::table::{MatMulFamily, MatMulSpec, ProductFamily, Variant};
use cuts::Cuts;
pub(crate) use finish::LeftRows;
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
        select::matmul(core, layout)
            .map(|variant: &'static Variant<F>| Self { variant, cuts: Cuts::of(core, variant.spec.block.m) })
    }

    #[inline]
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
    #[inline]
    pub fn columns(self) -> usize {
        self.spec().layout.panel()
    }

    /// Rows of a block, of which a rank takes a multiple.
    #[inline]
    pub fn grain(self) -> usize {
        self.spec().block.m
    }

    /// Rows that are packed and multiplied with a panel that was packed for them.
    #[inline]
    pub fn rows(self) -> usize {
        self.cuts.rows
    }

    /// Of `m` rows of `k` numbers, those that are packed and multiplied with every constant panel before the next rows.
    pub fn rows_of(self, m: usize, k: usize) -> usize {
        let of_row = k * size_of::<F::A>() + self.panels() * self.columns() * size_of::<F::C>();
        let times = m.div_ceil((self.cuts.left / of_row).max(self.rows())).max(1);
        m.div_ceil(times).next_multiple_of(self.grain()).min(m)
    }

    /// Panels whose products stand side by side in a tile.
    pub fn panels(self) -> usize {
        (self.cuts.columns / self.columns()).max(1)
    }

    /// Parts of a depth for `rows` rows, which are summed one after the other. A panel that is read only once need not stay.
    fn parts(self, rows: usize, k: usize) -> usize {
        let depth = self.cuts.panel / (self.columns() * size_of::<F::B>());
        if rows <= self.grain() { 1 } else { k.div_ceil(depth).max(1) }
    }

    /// Numbers that [`Blocks::multiply_panels`] needs for up to `rows` rows.
    pub fn sums_len(self, rows: usize) -> usize {
        self.tile_rows(rows) * self.panels() * self.columns()
    }

    /// Rows that are written for `rows` rows.
    #[inline]
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
            let (width, after) = (self.tile_rows(count), first + count);
            if after < rows.rows {
                rows.part(after, self.grain().min(rows.rows - after)).prefetch();
            }
            let panel;
            (panel, rest) = rest.split_at_mut(panel_len(width, rows.k, self.spec().tile.k));
            pack(worker, rows.part(first, count), width, self.spec().tile.k, panel);
        }
    }

    /// Packs rows of the left-hand side as one block, whatever their number, which only kernels with tiles of one row by one number
    /// take: a row for each number of the depth.
    pub fn pack_block(self, worker: &Worker<'_>, rows: Rows<'_, F::A>, packed: &mut [F::A]) {
        debug_assert_eq!([self.spec().tile.m, self.spec().tile.k], [1, 1]);
        pack(Some(worker), rows, rows.rows, 1, packed);
    }

    /// Packs up to [`Blocks::columns`] columns of the right-hand side, which `columns` has as rows.
    pub fn pack_right(self, worker: Option<&Worker<'_>>, columns: Rows<'_, F::B>, panel: &mut [F::B]) {
        pack(worker, columns, self.columns(), self.spec().tile.k, &mut panel[..self.panel_len(columns.k)]);
    }

    /// Groups of a depth.
    #[inline]
    fn groups(self, k: usize) -> usize {
        k.div_ceil(self.spec().tile.k)
    }

    /// Whether a variant of another family computes the same blocks of the same operands.
    fn is_like<G: ProductFamily>(self, other: &Variant<G>) -> bool {
        other.name == self.name() && other.spec.layout == self.layout()
    }

    /// First row and number of rows of each block.
    #[inline]
    fn blocks(self, rows: Range<usize>) -> impl Iterator<Item = (usize, usize)> {
        let (grain, end) = (self.grain(), rows.end);
        rows.step_by(grain).map(move |first| (first, grain.min(end - first)))
    }
}
