use std::fmt;

use super::{ExpertWeights, ROWS, Router, bias_of, blocks};
use crate::driver::{Driver, RunError};
use crate::mem::Scratch;
use crate::ops::matmul_nbits::STRIP;
use crate::rt::Worker;
use crate::tape::Io;

/// `Y[token]` = the sum over its routes of `weight * (inner[route] x W[expert] + b[expert])`.
///
/// Inputs: `inner` (`[tokens * top, k]`), the router's logits (`[tokens, experts]`), `b` (`[experts, n]`) where there is one.
/// Output: `Y`, `[tokens, n]`. All f32, row-major.
pub struct ExpertsDown {
    tokens: usize,
    router: Router,
    weights: Vec<ExpertWeights>,
    bias: bool,
}

impl ExpertsDown {
    /// # Panics
    /// When there are not as many weights as the router has experts, or they have not one shape.
    pub fn new(tokens: usize, router: Router, weights: Vec<ExpertWeights>, bias: bool) -> Self {
        ExpertWeights::check(&weights, &router);
        Self { tokens, router, weights, bias }
    }

    fn rows(&self) -> usize {
        ROWS.min(self.tokens)
    }
}

impl fmt::Display for ExpertsDown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Router { experts, top, .. }, weights) = (self.router, &self.weights[0]);
        write!(f, "experts_down tokens={} top={top}/{experts} n={} k={}", self.tokens, weights.n(), weights.k())
    }
}

impl Driver for ExpertsDown {
    fn scratch(&self) -> usize {
        self.router.scratch(self.tokens) + self.weights[0].scratch(self.rows())
    }

    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, scratch: &mut [u8]) -> Result<(), RunError> {
        let mut scratch = Scratch::new(scratch);
        let routes = self.router.route(io.input(1), &mut scratch);
        let (k, n) = (self.weights[0].k(), self.weights[0].n());
        let bytes: &mut [u8] = scratch.take(self.weights[0].scratch(self.rows()));
        let (inner, y) = (io.input::<f32>(0), io.output::<f32>(0));
        let biases = self.bias.then(|| io.input::<f32>(2));
        let strips = self.weights[0].share(worker);
        let own = (strips.start * STRIP).min(n)..(strips.end * STRIP).min(n);
        for token in 0..self.tokens {
            // SAFETY: ranks have other strips, hence other columns.
            unsafe { y.range(token * n + own.start..token * n + own.end) }.fill(0.0);
        }
        for (expert, block) in blocks(&routes) {
            let (a, bias) = (&inner[block.start * k..block.end * k], bias_of(biases, expert, n));
            self.weights[expert].multiply(
                worker,
                a,
                strips.clone(),
                Scratch::new(bytes),
                |columns, tile, stride| {
                    for (route, sums) in block.clone().zip(tile.chunks(stride)) {
                        let start = routes.tokens[route] as usize * n;
                        // SAFETY: as above, and the slice of one route is gone before the next.
                        let y = unsafe { y.range(start + columns.start..start + columns.end) };
                        let weight = routes.weights[route];
                        let bias = bias.get(columns.clone()).unwrap_or_default();
                        y.iter_mut().zip(sums).for_each(|(y, sum)| *y += weight * sum);
                        y.iter_mut().zip(bias).for_each(|(y, bias)| *y += weight * bias);
                    }
                },
            )?;
        }
        Ok(())
    }
}
