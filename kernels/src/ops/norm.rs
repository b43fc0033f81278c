//! Layer and root-mean-square normalisation of rows, with the additions that usually come before.

mod vectors;

use std::fmt;
use std::ops::Range;

use rten_simd::ops::{BitOps, FloatOps, NumOps};
use rten_simd::{Isa, Simd, SimdOp};

use crate::driver::{Driver, RunError};
use crate::rt::Worker;
use crate::tape::Io;
use crate::ukr::binary_f32::Function;
use crate::vector;

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
        match (vector::Binary::new(worker, Function::Add), vector::Normalize::new(worker)) {
            (Some(add), Some(normalize)) => rows.run_in_vectors(worker, &add, &normalize),
            _ => rows.dispatch(),
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

impl SimdOp for Rows<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(mut self, isa: I) {
        let ops = isa.f32();
        let cols = self.norm.cols;
        if cols == 0 {
            return;
        }
        let y = std::mem::take(&mut self.y);
        for (row, (x, y)) in self.x.chunks_exact(cols).zip(y.chunks_exact_mut(cols)).enumerate() {
            add(ops, x, self.skip(row), self.bias, y);
            self.write_sum(row, y);
            let moments = normalize(isa, self.norm, y, self.gamma, self.beta);
            self.write_moments(row, moments);
        }
    }
}

/// `y = x + skip + bias`.
#[inline(always)]
fn add<O: NumOps<f32>>(ops: O, x: &[f32], skip: Option<&[f32]>, bias: Option<&[f32]>, y: &mut [f32]) {
    each_vector(
        ops,
        y.len(),
        #[inline(always)]
        |at| {
            let mut sum = load(ops, x, at.clone());
            if let Some(skip) = skip {
                sum = ops.add(sum, load(ops, skip, at.clone()));
            }
            if let Some(bias) = bias {
                sum = ops.add(sum, load(ops, bias, at.clone()));
            }
            store(ops, sum, y, at);
        },
    );
}

/// Normalises one row in place and returns its mean (0 for RMS) and inverse deviation.
#[inline(always)]
fn normalize<I: Isa>(isa: I, norm: &Norm, y: &mut [f32], gamma: Option<&[f32]>, beta: Option<&[f32]>) -> [f32; 2] {
    let ops = isa.f32();
    let count = norm.cols as f64;
    let mean = match norm.kind {
        NormKind::Layer => (total(ops, y) / count) as f32,
        NormKind::Rms => 0.0,
    };
    let [residue, square] = moments(ops, y, mean).map(|sum| sum / count);
    // The rounded mean leaves a residue; without taking it off, the result would err by eps * mean / deviation.
    let residue = match norm.kind {
        NormKind::Layer => residue,
        NormKind::Rms => 0.0,
    };
    let variance = (square - residue * residue) as f32;
    let residue = residue as f32;
    let inv_std = 1.0 / (variance + norm.epsilon).sqrt();
    let (shift, rest, scale) = (ops.splat(mean), ops.splat(residue), ops.splat(inv_std));
    each_vector(
        ops,
        y.len(),
        #[inline(always)]
        |at| {
            let centred = ops.sub(ops.sub(load(ops, y, at.clone()), shift), rest);
            let mut value = ops.mul(centred, scale);
            if let Some(gamma) = gamma {
                value = ops.mul(value, load(ops, gamma, at.clone()));
            }
            if let Some(beta) = beta {
                value = ops.add(value, load(ops, beta, at.clone()));
            }
            store(ops, value, y, at);
        },
    );
    [mean + residue, inv_std]
}

/// Elements that are summed in f32 before the sum is added in f64: one lane alone must not lose a long row.
const CHUNK: usize = 256;

#[inline(always)]
fn total<O: NumOps<f32>>(ops: O, xs: &[f32]) -> f64 {
    let mut total = 0.0;
    for xs in xs.chunks(CHUNK) {
        let mut sum = ops.zero();
        each_vector(
            ops,
            xs.len(),
            #[inline(always)]
            |at| sum = ops.add(sum, load(ops, xs, at)),
        );
        total += f64::from(ops.sum(sum));
    }
    total
}

/// Sums of `x - mean` and of its square.
#[inline(always)]
fn moments<O: FloatOps<f32>>(ops: O, xs: &[f32], mean: f32) -> [f64; 2] {
    let mean = ops.splat(mean);
    let mut totals = [0.0; 2];
    for xs in xs.chunks(CHUNK) {
        let (mut sum, mut square) = (ops.zero(), ops.zero());
        each_vector(
            ops,
            xs.len(),
            #[inline(always)]
            |at| {
                // Lanes behind the end hold the mean, so that they add nothing.
                let x = if at.len() == ops.len() {
                    ops.load(&xs[at])
                } else {
                    let (x, mask) = ops.load_pad(&xs[at]);
                    ops.select(x, mean, mask)
                };
                let difference = ops.sub(x, mean);
                sum = ops.add(sum, difference);
                square = ops.mul_add(difference, difference, square);
            },
        );
        totals[0] += f64::from(ops.sum(sum));
        totals[1] += f64::from(ops.sum(square));
    }
    totals
}

/// Calls `f` for each vector-sized range of `0..len`, the last one being shorter when need be.
#[inline(always)]
fn each_vector<O: NumOps<f32>>(ops: O, len: usize, mut f: impl FnMut(Range<usize>)) {
    let full = len / ops.len() * ops.len();
    for start in (0..full).step_by(ops.len()) {
        f(start..start + ops.len());
    }
    if full < len {
        f(full..len);
    }
}

#[inline(always)]
fn load<O: NumOps<f32>>(ops: O, xs: &[f32], at: Range<usize>) -> O::Simd {
    if at.len() == ops.len() { ops.load(&xs[at]) } else { ops.load_pad(&xs[at]).0 }
}

#[inline(always)]
fn store<O: NumOps<f32>>(ops: O, value: O::Simd, ys: &mut [f32], at: Range<usize>) {
    let ys = &mut ys[at];
    if ys.len() == ops.len() {
        ops.store(value, ys);
    } else {
        ys.copy_from_slice(&value.to_array().as_ref()[..ys.len()]);
    }
}

#[cfg(test)]
mod tests;
