//! The norm of a head, on cores with vectors and on others.

use crate::host::vectorised;
use crate::rt::Worker;
use crate::ukr::reduce_f32::Reduction;
use crate::vector::{Normalize, Reduce};

/// `out = x * inverse * weight` with the inverse root of the mean square plus `epsilon`.
pub(super) struct Norm<'a> {
    weight: &'a [f32],
    epsilon: f32,
    /// The kernels of a core that has vectors.
    vectors: Option<(Reduce<'a>, Normalize<'a>)>,
}

impl<'a> Norm<'a> {
    pub fn new(worker: &Worker<'a>, weight: &'a [f32], epsilon: f32) -> Self {
        let vectors = Reduce::new(worker, Reduction::LaneSquares).zip(Normalize::new(worker));
        Self { weight, epsilon, vectors }
    }

    pub fn run(&self, x: &[f32], out: &mut [f32]) {
        let Some((squares, normalize)) = &self.vectors else {
            return vectorised(
                #[inline(always)]
                || norm(x, self.weight, self.epsilon, out),
            );
        };
        let mean = squares.sums(x, 0.0)[0] / x.len() as f64;
        let inverse = (1.0 / (mean + f64::from(self.epsilon)).sqrt()) as f32;
        normalize.map(x, out, &[[0.0, 0.0, inverse]], [Some(self.weight), None]);
    }
}

#[inline(always)]
fn norm(x: &[f32], weight: &[f32], epsilon: f32, out: &mut [f32]) {
    let mut squares = [0.0; 16];
    let chunks = x.chunks_exact(16);
    let rest: f32 = chunks.remainder().iter().map(|x| x * x).sum();
    for chunk in chunks {
        squares.iter_mut().zip(chunk).for_each(|(sum, x)| *sum += x * x);
    }
    let mean = (squares.iter().sum::<f32>() + rest) / x.len() as f32;
    let inverse = 1.0 / (mean + epsilon).sqrt();
    out.iter_mut().zip(x.iter().zip(weight)).for_each(|(y, (x, weight))| *y = x * inverse * weight);
}
