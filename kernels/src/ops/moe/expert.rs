use std::ops::Range;
use std::sync::Arc;

use super::Router;
use crate::driver::RunError;
use crate::host;
use crate::mem::Scratch;
use crate::ops::matmul_nbits::{Engine, Left, STRIP};
use crate::pack::{NBitsWeights, PackedWeights};
use crate::rt::Worker;

/// One of the two weights of an expert.
#[derive(Clone)]
pub enum ExpertWeights {
    /// Of the layout [`PackLayout::HostF32`](crate::pack::PackLayout::HostF32).
    F32(Arc<PackedWeights>),
    NBits(Engine, Arc<NBitsWeights>),
}

impl ExpertWeights {
    pub fn k(&self) -> usize {
        match self {
            Self::F32(weights) => weights.k(),
            Self::NBits(_, weights) => weights.shape().k(),
        }
    }

    pub fn n(&self) -> usize {
        match self {
            Self::F32(weights) => weights.n(),
            Self::NBits(_, weights) => weights.shape().n(),
        }
    }

    /// # Panics
    /// When there are not as many weights as the router has experts, or they have not one shape.
    pub(super) fn check(weights: &[Self], router: &Router) {
        assert_eq!(weights.len(), router.experts, "a weight for each expert");
        assert!((1..=router.experts).contains(&router.top), "as many experts as a token has");
        let first = &weights[0];
        assert!(weights.iter().all(|weights| (weights.k(), weights.n()) == (first.k(), first.n())), "one shape");
    }

    /// Strips of the weight that a rank multiplies with.
    pub(super) fn share(&self, worker: &Worker<'_>) -> Range<usize> {
        worker.share(self.n().div_ceil(STRIP), 1)
    }

    /// Bytes of scratch that [`ExpertWeights::multiply`] needs for `rows` rows.
    pub(super) fn scratch(&self, rows: usize) -> usize {
        let left = match self {
            Self::F32(_) => 0,
            Self::NBits(engine, weights) => Left::scratch(*engine, weights.shape(), rows),
        };
        Scratch::bytes::<u8>(left) + Scratch::bytes::<f32>(rows * STRIP)
    }

    /// Multiplies `a`, rows of `k` numbers, with the strips `strips` of the weight, [`STRIP`] columns each. `take` gets the
    /// columns of each strip, and the products as rows of so many numbers, those of the strip first.
    pub(super) fn multiply(
        &self,
        worker: &Worker<'_>,
        a: &[f32],
        strips: Range<usize>,
        mut scratch: Scratch<'_>,
        mut take: impl FnMut(Range<usize>, &[f32], usize),
    ) -> Result<(), RunError> {
        let (k, n) = (self.k(), self.n());
        let rows = a.len() / k;
        let tile: &mut [f32] = scratch.take(rows * STRIP);
        let columns = |index: usize| index * STRIP..((index + 1) * STRIP).min(n);
        match self {
            Self::F32(weights) => {
                let (a, panels) = (host::matrix(a, [rows, k], [k, 1]), weights.host_f32()?);
                for index in strips {
                    let columns = columns(index);
                    let width = columns.len();
                    panels.panel(index).multiply(a, 1.0, &mut tile[..rows * width])?;
                    take(columns, &tile[..rows * width], width);
                }
            }
            Self::NBits(engine, weights) => {
                let shape = weights.shape();
                let bytes = scratch.take(Left::scratch(*engine, shape, rows));
                let mut left = Left::prepare(worker, (*engine, rows), shape, a, bytes);
                let (panels, strip) = (engine.layout().panels(shape), engine.strip_panels());
                for index in strips {
                    left.multiply(worker, weights, index * strip..((index + 1) * strip).min(panels), tile)?;
                    take(columns(index), tile, STRIP);
                }
            }
        }
        Ok(())
    }
}

/// The panels of f32 weights are strips too.
const _: () = assert!(host::PANEL == STRIP);
