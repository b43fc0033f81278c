use std::ops::Range;

use rten_simd::Isa;

use super::{Accumulators, Block, load};
use crate::rt::Worker;
use crate::tape::SharedOut;

/// Sums that are final, and in their place in the output already.
pub(super) struct Stored<'a> {
    pub block: &'a Block,
    pub out: SharedOut<'a, f32>,
    pub n: usize,
}

impl Stored<'_> {
    /// The place of some numbers of a row, counted inside the block.
    fn place(&self, row: usize, columns: Range<usize>) -> *mut f32 {
        let start = (self.block.rows.start + row) * self.n + self.block.columns.start;
        self.out.pointer(start + columns.start..start + columns.end)
    }
}

impl Accumulators for Stored<'_> {
    #[inline(always)]
    fn load<I: Isa>(&self, isa: I, row: usize, column: usize, lanes: usize) -> I::F32 {
        let place = self.place(row, column..column + lanes);
        // SAFETY: the block of the output is the caller's of `Epilogue::finish`, and nobody writes it while it is read here.
        load(isa.f32(), unsafe { std::slice::from_raw_parts(place, lanes) }, lanes)
    }

    fn row(&self, _worker: &Worker<'_>, row: usize, y: &mut [f32]) -> bool {
        let place = self.place(row, 0..y.len());
        if !std::ptr::eq(place, y.as_ptr()) {
            // SAFETY: the numbers are the caller's of `Epilogue::finish`, and `y` is not their place but a buffer.
            unsafe { y.as_mut_ptr().copy_from_nonoverlapping(place, y.len()) };
        }
        true
    }
}
