//! Products of few query rows with keys and values that lie row by row: each is read once and in place, which a matrix
//! product that packs its operands first cannot do.

use rten_simd::ops::{BitOps, NumOps};
use rten_simd::{Isa, SimdOp};

use crate::vector::Rows;

/// Keys of which the sums are built at the same time.
const KEYS: usize = 4;

impl<'a> Rows<'a, f32> {
    fn at(&self, index: usize) -> &'a [f32] {
        &self.data[index * self.stride..][..self.width]
    }

    fn group(&self, first: usize) -> [&'a [f32]; KEYS] {
        std::array::from_fn(|index| self.at(first + index))
    }
}

/// `scores[r, t] = scale * q[r] . k[t]` for `[rows, width]` queries and `[rows, keys]` scores, rows of which are `pitch` apart.
pub(super) struct Dots<'a> {
    pub q: &'a [f32],
    pub k: Rows<'a, f32>,
    pub keys: usize,
    pub scale: f32,
    pub scores: &'a mut [f32],
    pub pitch: usize,
}

impl SimdOp for Dots<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        if self.k.width == 0 {
            return self.scores.fill(0.0);
        }
        for (q, scores) in self.q.chunks_exact(self.k.width).zip(self.scores.chunks_exact_mut(self.pitch)) {
            let mut groups = scores[..self.keys].chunks_exact_mut(KEYS);
            let mut key = 0;
            for group in &mut groups {
                group.copy_from_slice(&dots(isa, q, self.k.group(key)).map(|dot| dot * self.scale));
                key += KEYS;
            }
            for score in groups.into_remainder() {
                *score = dots(isa, q, [self.k.at(key)])[0] * self.scale;
                key += 1;
            }
        }
    }
}

/// The products of `q` with rows of the same length.
#[inline(always)]
fn dots<I: Isa, const N: usize>(isa: I, q: &[f32], rows: [&[f32]; N]) -> [f32; N] {
    let ops = isa.f32();
    assert!(rows.iter().all(|row| row.len() == q.len()));
    let full = q.len() / ops.len() * ops.len();
    let mut sums = [ops.zero(); N];
    for at in (0..full).step_by(ops.len()) {
        // SAFETY: `at` and a vector more are within `full`, which no operand is shorter than.
        let x = unsafe { ops.load_ptr(q.as_ptr().add(at)) };
        for (sum, row) in sums.iter_mut().zip(rows) {
            // SAFETY: as above.
            *sum = ops.mul_add(x, unsafe { ops.load_ptr(row.as_ptr().add(at)) }, *sum);
        }
    }
    if full < q.len() {
        let x = ops.load_pad(&q[full..]).0;
        for (sum, row) in sums.iter_mut().zip(rows) {
            *sum = ops.mul_add(x, ops.load_pad(&row[full..]).0, *sum);
        }
    }
    sums.map(|sum| ops.sum(sum))
}

/// `acc[r] += sum_t weights[r, t] * v[t]` for `[rows, keys]` weights, rows of which are `pitch` apart, and `[rows, width]` sums.
pub(super) struct WeightedSums<'a> {
    pub weights: &'a [f32],
    pub pitch: usize,
    pub keys: usize,
    pub v: Rows<'a, f32>,
    pub acc: &'a mut [f32],
}

impl SimdOp for WeightedSums<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        if self.v.width == 0 {
            return;
        }
        for (acc, weights) in self.acc.chunks_exact_mut(self.v.width).zip(self.weights.chunks_exact(self.pitch)) {
            let groups = weights[..self.keys].chunks_exact(KEYS);
            let rest = groups.remainder();
            let mut key = 0;
            for group in groups {
                add_weighted(isa, acc, std::array::from_fn::<_, KEYS, _>(|i| group[i]), self.v.group(key));
                key += KEYS;
            }
            for &weight in rest {
                add_weighted(isa, acc, [weight], [self.v.at(key)]);
                key += 1;
            }
        }
    }
}

/// Adds the rows, which are as long as `acc`, times their weights.
#[inline(always)]
fn add_weighted<I: Isa, const N: usize>(isa: I, acc: &mut [f32], weights: [f32; N], rows: [&[f32]; N]) {
    let ops = isa.f32();
    assert!(rows.iter().all(|row| row.len() == acc.len()));
    let full = acc.len() / ops.len() * ops.len();
    let splats = weights.map(|weight| ops.splat(weight));
    for at in (0..full).step_by(ops.len()) {
        // SAFETY: `at` and a vector more are within `full`, which no operand is shorter than.
        let mut sum = unsafe { ops.load_ptr(acc.as_ptr().add(at)) };
        for (weight, row) in splats.iter().zip(rows) {
            // SAFETY: as above.
            sum = ops.mul_add(*weight, unsafe { ops.load_ptr(row.as_ptr().add(at)) }, sum);
        }
        // SAFETY: as above.
        unsafe { ops.store_ptr(sum, acc.as_mut_ptr().add(at)) };
    }
    for (at, sum) in acc.iter_mut().enumerate().skip(full) {
        for (weight, row) in weights.iter().zip(rows) {
            *sum += weight * row[at];
        }
    }
}
