use std::fmt;

use super::{ExpertActivation, ExpertWeights, ROWS, Router, bias_of, blocks};
use crate::driver::{Driver, RunError};
use crate::mem::Scratch;
use crate::ops::matmul_nbits::STRIP;
use crate::rt::Worker;
use crate::tape::Io;

/// `inner[route] = act(X[token] x W[expert] + b[expert])`.
///
/// Inputs: `X` (`[tokens, k]`), the router's logits (`[tokens, experts]`), `b` (`[experts, n]`) where there is one. Output:
/// `inner`, `[tokens * top, outputs of the activation]`. All f32, row-major.
pub struct ExpertsUp {
    tokens: usize,
    router: Router,
    activation: ExpertActivation,
    weights: Vec<ExpertWeights>,
    bias: bool,
}

impl ExpertsUp {
    /// # Panics
    /// When there are not as many weights as the router has experts, or they have not one shape.
    pub fn new(
        tokens: usize,
        router: Router,
        activation: ExpertActivation,
        weights: Vec<ExpertWeights>,
        bias: bool,
    ) -> Self {
        ExpertWeights::check(&weights, &router);
        Self { tokens, router, activation, weights, bias }
    }

    fn rows(&self) -> usize {
        ROWS.min(self.tokens)
    }
}

impl fmt::Display for ExpertsUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Router { experts, top, .. }, weights) = (self.router, &self.weights[0]);
        write!(f, "experts_up tokens={} top={top}/{experts} n={} k={}", self.tokens, weights.n(), weights.k())
    }
}

impl Driver for ExpertsUp {
    fn scratch(&self) -> usize {
        let weights = &self.weights[0];
        self.router.scratch(self.tokens)
            + Scratch::bytes::<f32>(self.rows() * weights.k())
            + Scratch::bytes::<f32>(2 * STRIP)
            + weights.scratch(self.rows())
    }

    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, scratch: &mut [u8]) -> Result<(), RunError> {
        let mut scratch = Scratch::new(scratch);
        let routes = self.router.route(io.input(1), &mut scratch);
        let (k, n) = (self.weights[0].k(), self.weights[0].n());
        let gathered: &mut [f32] = scratch.take(self.rows() * k);
        let line: &mut [f32] = scratch.take(2 * STRIP);
        let bytes: &mut [u8] = scratch.take(self.weights[0].scratch(self.rows()));
        let (x, inner) = (io.input::<f32>(0), io.output::<f32>(0));
        let biases = self.bias.then(|| io.input::<f32>(2));
        let (strips, width) = (self.weights[0].share(worker), self.activation.outputs(n));
        for (expert, block) in blocks(&routes) {
            for (row, &token) in gathered.chunks_mut(k).zip(&routes.tokens[block.clone()]) {
                row.copy_from_slice(&x[token as usize * k..][..k]);
            }
            let (a, bias) = (&gathered[..block.len() * k], bias_of(biases, expert, n));
            self.weights[expert].multiply(
                worker,
                a,
                strips.clone(),
                Scratch::new(bytes),
                |columns, tile, stride| {
                    let to = self.activation.outputs(columns.start)..self.activation.outputs(columns.end);
                    for (route, sums) in block.clone().zip(tile.chunks(stride)) {
                        // SAFETY: ranks have other strips, hence other columns, and rows do not overlap.
                        let out = unsafe { inner.range(route * width + to.start..route * width + to.end) };
                        let bias = bias.get(columns.clone()).unwrap_or_default();
                        self.activation.apply(&sums[..columns.len()], bias, line, out);
                    }
                },
            )?;
        }
        Ok(())
    }
}
