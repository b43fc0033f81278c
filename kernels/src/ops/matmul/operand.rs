use std::ops::Range;

use half::f16;
use rten_tensor::Matrix;

use crate::host::F32Panel;

/// Rows of the left-hand side as an engine reads them.
pub(in crate::ops) enum Left<'a> {
    Host(Matrix<'a, f32>),
    Blocks(&'a [f32]),
    Half(&'a [f16]),
}

/// A strip of columns of the right-hand side as an engine reads it.
pub(in crate::ops) enum Strip<'a> {
    Host(&'a F32Panel),
    Blocks(&'a [f32]),
    Half(&'a [f16]),
}

/// Columns of strip `index` of a matrix of `n` columns.
pub(super) fn columns(strip: usize, index: usize, n: usize) -> Range<usize> {
    index * strip..((index + 1) * strip).min(n)
}
