use std::fmt;

use super::width::grain;
use crate::driver::{Driver, RunError};
use crate::host::vectorised;
use crate::rt::Worker;
use crate::tape::Io;

/// `y[o, j, i] = sum_t weight[j, t] * x[o, source[j, t], i]` in f32: an axis of `len` elements becomes one of another length,
/// each of whose elements is a weighted sum of a few.
///
/// Input `[outer, len, inner]`, output `[outer, elements, inner]`.
pub struct Resample {
    outer: usize,
    len: usize,
    inner: usize,
    /// Terms of each element.
    terms: usize,
    /// `[elements, terms]`
    table: Vec<Term>,
}

/// One term of a sum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Term {
    pub source: usize,
    pub weight: f32,
}

impl Resample {
    /// `table` has `terms` terms for each element of the new axis.
    ///
    /// # Panics
    /// When a source is not below `len`.
    pub fn new([outer, len, inner]: [usize; 3], terms: usize, table: Vec<Term>) -> Self {
        assert!(table.iter().all(|term| term.source < len), "source of a term");
        Self { outer, len, inner, terms, table }
    }

    fn elements(&self) -> usize {
        self.table.len() / self.terms
    }

    /// The axis is the last one: all elements of a row.
    #[inline(always)]
    fn row(&self, x: &[f32], y: &mut [f32]) {
        for (y, terms) in y.iter_mut().zip(self.table.chunks_exact(self.terms)) {
            *y = terms.iter().map(|term| term.weight * x[term.source]).sum();
        }
    }

    /// Element `index` for all that stand behind it.
    #[inline(always)]
    fn line(&self, index: usize, x: &[f32], y: &mut [f32]) {
        let inner = self.inner;
        for (place, term) in self.table[index * self.terms..][..self.terms].iter().enumerate() {
            let x = &x[term.source * inner..][..inner];
            if place == 0 {
                y.iter_mut().zip(x).for_each(|(y, x)| *y = term.weight * x);
            } else {
                y.iter_mut().zip(x).for_each(|(y, x)| *y += term.weight * x);
            }
        }
    }
}

impl fmt::Display for Resample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { outer, len, inner, terms, .. } = self;
        write!(f, "resample {outer}x{len}x{inner} to {} by {terms}", self.elements())
    }
}

impl Driver for Resample {
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        let (elements, block) = (self.elements(), self.len * self.inner);
        let (x, y) = (io.input::<f32>(0), io.output::<f32>(0));
        let (units, width) = if self.inner == 1 { (self.outer, elements) } else { (self.outer * elements, self.inner) };
        let share = worker.share(units, grain(width * self.terms * size_of::<f32>()));
        vectorised(
            #[inline(always)]
            || {
                for unit in share {
                    // SAFETY: shares of ranks are disjoint.
                    let y = unsafe { y.range(unit * width..(unit + 1) * width) };
                    if self.inner == 1 {
                        self.row(&x[unit * block..][..block], y);
                    } else {
                        self.line(unit % elements, &x[unit / elements * block..][..block], y);
                    }
                }
            },
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{floats, run_one};

    #[test]
    fn elements_are_weighted_sums() {
        for (outer, len, inner) in [(1, 3, 1), (2, 5, 4), (3, 4, 1), (0, 2, 3), (2, 3, 3000)] {
            for terms in [1, 2, 4] {
                let weights = floats(7 * terms, 2);
                let table: Vec<Term> =
                    weights.iter().enumerate().map(|(i, &weight)| Term { source: i * 5 % len, weight }).collect();
                let x = floats(outer * len * inner, 1);
                let expected = (0..outer * 7 * inner).map(|at| {
                    let (o, j, i) = (at / inner / 7, at / inner % 7, at % inner);
                    let term = |t: &Term| f64::from(t.weight) * f64::from(x[(o * len + t.source) * inner + i]);
                    table[j * terms..][..terms].iter().map(term).sum::<f64>()
                });
                let driver = Resample::new([outer, len, inner], terms, table.clone());
                let y = run_one::<f32>(driver, 2, &[bytemuck::cast_slice(&x)], outer * 7 * inner).unwrap();
                for (y, expected) in y.iter().zip(expected) {
                    assert!((f64::from(*y) - expected).abs() < 1e-6, "{y} for {expected}");
                }
            }
        }
    }
}
