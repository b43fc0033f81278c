//! Panels whose kernel rescales the sums itself, so that they are neither stored nor loaded again.

use std::ops::Range;

use crate::driver::RunError;
use crate::ops::blocks::{Blocks, LeftRows};
use crate::pack::PackedWeights;
use crate::rt::Worker;
use crate::tape::SharedOut;
use crate::ukr::matmul_u8_i8_f32::{Columns, MatMulU8I8F32};
use crate::ukr::matmul_u8_i8_i32::MatMulU8I8I32;
use crate::ukr::{PANEL, prefetch};
use crate::vector::pointer;

/// What belongs to some rows of the product and to all its columns.
pub(super) struct Rescaled<'a> {
    pub weights: &'a PackedWeights,
    pub a_scale: f32,
    pub b_scales: &'a [f32],
    /// Empty where there is none.
    pub bias: &'a [f32],
    /// `az` of all rows, where they share one.
    pub a_zero_point: Option<i32>,
    pub a_zero_points: &'a [i32],
    /// Empty when all are 0.
    pub b_zero_points: &'a [i32],
    /// `sum a - k az` of the rows. Read only where `b_zero_points` are.
    pub row_sums: &'a [i32],
}

impl Rescaled<'_> {
    /// `y` of packed rows and of `panels`, whose columns are all there; `false` where there is no such kernel. `y` has rows of `n`
    /// numbers, those of this product from `row` on.
    ///
    /// # Errors
    /// Weights of another layout.
    ///
    /// # Safety
    /// No other rank touches these rows and columns of `y`, and the caller holds no slice of them.
    pub unsafe fn store(
        &self,
        blocks: Blocks<MatMulU8I8I32>,
        worker: &Worker<'_>,
        (packed, rows): (&[u8], Range<usize>),
        panels: Range<usize>,
        y: (SharedOut<'_, f32>, usize),
    ) -> Result<bool, RunError> {
        let Some(factors) = self.row_factors() else { return Ok(false) };
        let (left, right) = (LeftRows { packed, rows, factors }, (self.weights, panels));
        // SAFETY: the caller's promise; each number that belongs to a column is there for a whole panel.
        unsafe { blocks.finish_panels::<MatMulU8I8F32, _>(worker, left, right, |first| self.columns(first), y) }
    }

    /// One number for each row, empty where they are 0; `None` where one is not enough.
    fn row_factors(&self) -> Option<&[i32]> {
        match self.a_zero_point {
            Some(_) if self.b_zero_points.is_empty() => Some(&[]),
            Some(_) => Some(self.row_sums),
            None if self.b_zero_points.is_empty() => Some(self.a_zero_points),
            None => None,
        }
    }

    /// What belongs to the columns of the panel that begins with column `first`; asks for that of the next one.
    fn columns(&self, first: usize) -> Columns {
        let sums = panel(self.weights.column_sums(), first);
        let zero_points = panel(self.b_zero_points, first);
        Columns {
            sums: pointer(sums),
            factors: pointer(if zero_points.is_empty() { sums } else { zero_points }),
            scales: pointer(panel(self.b_scales, first)),
            bias: pointer(panel(self.bias, first)),
            zero_point: self.a_zero_point.unwrap_or_default(),
            scale: self.a_scale,
        }
    }
}

/// A panel's part of what belongs to all columns, unless that is nothing; asks for the part of the next one.
fn panel<T>(numbers: &[T], first: usize) -> &[T] {
    if numbers.is_empty() {
        return numbers;
    }
    let (panel, rest) = numbers[first..].split_at(PANEL);
    prefetch(&rest[..PANEL.min(rest.len())]);
    panel
}
