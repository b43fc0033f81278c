//! Mixture of experts: each token goes through the few networks that a router chooses for it.
//!
//! `Y[t] = sum over the experts e of token t: weight(t, e) * (act(X[t] x W1[e] + b1[e]) x W2[e] + b2[e])`, in two steps:
//! [`ExpertsUp`] up to the activation, a row for each route, then [`ExpertsDown`]. A route is a token and one of its experts;
//! those of an expert are side by side. Both steps route for themselves, which is little work.

mod activation;
mod down;
mod expert;
mod route;
mod up;

use std::ops::Range;

pub use activation::ExpertActivation;
pub use down::ExpertsDown;
pub use expert::ExpertWeights;
pub use route::Router;
pub use up::ExpertsUp;

use route::Routes;

/// Rows that are multiplied at once.
const ROWS: usize = 32;

/// Routes of each expert that has any, in blocks of [`ROWS`].
fn blocks<'r>(routes: &'r Routes<'_>) -> impl Iterator<Item = (usize, Range<usize>)> + use<'r> {
    routes.starts.windows(2).enumerate().flat_map(|(expert, bounds)| {
        let (first, end) = (bounds[0] as usize, bounds[1] as usize);
        (first..end).step_by(ROWS).map(move |start| (expert, start..(start + ROWS).min(end)))
    })
}

/// The row of an expert in a table with `n` columns; empty when there is no table.
fn bias_of(table: Option<&[f32]>, expert: usize, n: usize) -> &[f32] {
    table.map_or(&[], |table| &table[expert * n..][..n])
}

#[cfg(test)]
mod tests;
