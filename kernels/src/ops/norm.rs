//! Layer and root-mean-square normalisation of rows, with the additions that usually come before.

mod portable;
mod vectors;

use std::fmt;
use std::ops::Range;

use rten_simd::SimdOp;

use crate::driver::{Driver, RunError};
use crate::rt::Worker;
use crate::tape::Io;

/// Elements that one rank takes at least.
const GRAIN: usize = 4096;

/// What a row is normalised by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NormKind {
    /// Mean and standard deviation.
    Layer,
    /// Root of the mean square.
    Rms,
}

/// `t = x + skip + bias`, `y = (t - mean(t)) / sqrt(var(t) + epsilon) * gamma + beta` for each row; without the mean, and
/// the mean square instead of the variance, for [`NormKind::Rms`]. All f32.
///
/// Inputs, those left out not counted: x `[rows, cols]`, skip `[skip_rows, cols]` (repeated), bias, gamma, beta, each
/// `[cols]`. Outputs: y, then t (both `[rows, cols]`), mean and inverse deviation (both `[rows]`).
#[derive(Clone, Debug)]
pub struct Norm {
    pub kind: NormKind,
    pub rows: usize,
    pub cols: usize,
    pub epsilon: f32,
    pub skip_rows: Option<usize>,
    pub bias: bool,
    pub gamma: bool,
    pub beta: bool,
    pub sum_out: bool,
    pub mean_out: bool,
    pub inv_std_out: bool,
}

impl Norm {
    /// A norm with gamma and nothing else.
    pub fn new(kind: NormKind, rows: usize, cols: usize, epsilon: f32) -> Self {
        Self {
            kind,
            rows,
            cols,
            epsilon,
            skip_rows: None,
            bias: false,
            gamma: true,
            beta: false,
            sum_out: false,
            mean_out: false,
            inv_std_out: false,
        }
    }
}

impl fmt::Display for Norm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.kind {
            NormKind::Layer => "layer_norm",
            NormKind::Rms => "rms_norm",
        };
        write!(f, "{name} {}x{}", self.rows, self.cols)?;
        let parts = [
            (self.skip_rows.is_some(), " +skip"),
            (self.bias, " +bias"),
            (self.gamma, " *gamma"),
            (self.beta, " +beta"),
            (self.sum_out, " ->sum"),
        ];
        parts.iter().filter(|(given, _)| *given).try_for_each(|(_, text)| f.write_str(text))
    }
}

impl Driver for Norm {
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        let share = worker.share(self.rows, GRAIN.div_ceil(self.cols.max(1)));
        let elements = share.start * self.cols..share.end * self.cols;
        let mut next_input = 0..;
        let mut input = |given: bool| if given { next_input.next().map(|index| io.input::<f32>(index)) } else { None };
        let mut next_output = 0..;
        let mut output = |given: bool, range: Range<usize>| {
            let out = if given { next_output.next().map(|index| io.output::<f32>(index)) } else { None };
            // SAFETY: shares of ranks are disjoint.
            out.map(|out| unsafe { out.range(range) })
        };
        let rows = Rows {
            norm: self,
            first: share.start,
            x: &input(true).unwrap_or_default()[elements.clone()],
            skip: input(self.skip_rows.is_some()),
            bias: input(self.bias),
            gamma: input(self.gamma),
            beta: input(self.beta),
            y: output(true, elements.clone()).unwrap_or_default(),
            sum: output(self.sum_out, elements),
            mean: output(self.mean_out, share.clone()),
            inv_std: output(self.inv_std_out, share),
        };
        match vectors::Vectors::new(worker, self.kind, self.cols) {
            Some(vectors) => rows.run_in_vectors(&vectors),
            None => rows.dispatch(),
        }
        Ok(())
    }
}

/// One rank's rows, from row `first` on.
struct Rows<'a> {
    norm: &'a Norm,
    first: usize,
    x: &'a [f32],
    skip: Option<&'a [f32]>,
    bias: Option<&'a [f32]>,
    gamma: Option<&'a [f32]>,
    beta: Option<&'a [f32]>,
    y: &'a mut [f32],
    sum: Option<&'a mut [f32]>,
    mean: Option<&'a mut [f32]>,
    inv_std: Option<&'a mut [f32]>,
}

impl<'a> Rows<'a> {
    /// The row of `skip` for row `row` of these.
    fn skip(&self, row: usize) -> Option<&'a [f32]> {
        let (skip, rows) = (self.skip?, self.norm.skip_rows?);
        Some(&skip[(self.first + row) % rows * self.norm.cols..][..self.norm.cols])
    }

    /// Writes what row `row` of `y` is before it is normalised.
    fn write_sum(&mut self, row: usize, y: &[f32]) {
        if let Some(sum) = &mut self.sum {
            sum[row * y.len()..][..y.len()].copy_from_slice(y);
        }
    }

    fn write_moments(&mut self, row: usize, [mean, inv_std]: [f32; 2]) {
        if let Some(out) = &mut self.mean {
            out[row] = mean;
        }
        if let Some(out) = &mut self.inv_std {
            out[row] = inv_std;
        }
    }
}

#[cfg(test)]
mod tests;
