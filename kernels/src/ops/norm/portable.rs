//! The rows on the host, and on cores without vectors.

use std::ops::Range;

use rten_simd::ops::{BitOps, FloatOps, NumOps};
use rten_simd::{Isa, Simd, SimdOp};

use super::{Norm, NormKind, Rows};

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
