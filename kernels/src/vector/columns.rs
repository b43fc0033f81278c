use super::find;
use crate::rt::Worker;
use crate::table::{Armed, COLUMN_MAX_F32, EXP_COLUMNS_F32};
use crate::ukr::column_max_f32::{self, ColumnMaxF32};
use crate::ukr::exp_columns_f32::{self, ExpColumnsF32};

pub(crate) use column_max_f32::{COLUMNS, STEP};

/// The two passes of a softmax over the columns of rows of [`COLUMNS`] numbers, of which there is a multiple of [`STEP`].
pub(crate) struct SoftmaxColumns<'w> {
    max: Armed<'w, ColumnMaxF32>,
    exp: Armed<'w, ExpColumnsF32>,
}

impl<'w> SoftmaxColumns<'w> {
    pub fn new(worker: &Worker<'w>) -> Option<Self> {
        Some(Self { max: find(worker, COLUMN_MAX_F32, ())?, exp: find(worker, EXP_COLUMNS_F32, ())? })
    }

    /// Each number of `max` becomes the largest of it and its column; NaN is passed over.
    ///
    /// # Panics
    /// When `x` has another number of rows.
    pub fn max(&self, x: &[f32], max: &mut [f32; COLUMNS]) {
        assert!(!x.is_empty() && x.len().is_multiple_of(STEP * COLUMNS));
        let args = column_max_f32::Args { x: x.as_ptr(), rows: x.len() / COLUMNS, max: max.as_mut_ptr() };
        // SAFETY: the assertion makes it so many rows.
        unsafe { self.max.call(&args) }
    }

    /// Replaces each `y` by `exp(y - shift)` for numbers that are not larger than the shift of their column by more than 40, and
    /// returns the sums.
    ///
    /// # Panics
    /// As [`SoftmaxColumns::max`].
    pub fn exp(&self, y: &mut [f32], shifts: [f32; COLUMNS]) -> [f32; COLUMNS] {
        assert!(y.len().is_multiple_of(STEP * COLUMNS));
        let (shifts, mut sums) = ([shifts; STEP], [0.0; COLUMNS]);
        let (at, len) = (y.as_mut_ptr(), y.len());
        let args = exp_columns_f32::Args { x: at, y: at, len, shifts: shifts.as_ptr().cast(), sums: sums.as_mut_ptr() };
        // SAFETY: as above.
        unsafe { self.exp.call(&args) };
        sums
    }
}
