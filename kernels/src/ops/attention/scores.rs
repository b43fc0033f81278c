use std::fmt;
use std::iter::StepBy;
use std::slice;

use super::Attention;
use super::online::finite_base;
use super::tile::{Tile, Unit};
use crate::driver::{Driver, RunError};
use crate::rt::Worker;
use crate::tape::Io;
use crate::vector::COLUMNS;

/// How far scores have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScoreStage {
    /// Scaled products.
    Product,
    /// After the softcap.
    Capped,
    /// With biases; hidden keys have -inf.
    Biased,
    /// After the softmax; zero where all keys are hidden.
    Weights,
}

/// The scores of an attention, f32 `[batch, heads, queries, keys]`. Inputs are those of the attention; a sink is left out.
pub struct Scores {
    attention: Attention,
    stage: ScoreStage,
}

impl Attention {
    /// A driver for the scores at this stage.
    pub fn scores(&self, stage: ScoreStage) -> Scores {
        Scores { attention: self.clone(), stage }
    }
}

impl fmt::Display for Scores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} scores of {}", self.stage, self.attention)
    }
}

impl Driver for Scores {
    fn scratch(&self) -> usize {
        self.attention.scratch()
    }

    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, scratch: &mut [u8]) -> Result<(), RunError> {
        let d = &self.attention.dims;
        let block = self.attention.block_keys();
        let mut tile = Tile::new(&self.attention, worker, io, scratch);
        for index in worker.share(self.attention.units(), 1) {
            let unit = self.attention.unit(io, index)?;
            let row_at = |row: usize| {
                let (head, query) = unit.row(row);
                ((unit.batch * d.heads + head) * d.queries + query) * d.keys
            };
            for start in (0..d.keys).step_by(block) {
                let cols = block.min(d.keys - start);
                tile.each_score(&unit, (start, cols), self.stage, |row, scores| {
                    let at = row_at(row) + start;
                    // SAFETY: rows are disjoint, and each unit belongs to one rank.
                    let out = unsafe { io.output::<f32>(0).range(at..at + cols) };
                    out.iter_mut().zip(scores).for_each(|(out, score)| *out = *score);
                })?;
            }
            if self.stage == ScoreStage::Weights {
                // SAFETY: as above.
                let rows = (0..unit.rows()).map(|row| unsafe { io.output(0).range(row_at(row)..row_at(row) + d.keys) });
                rows.for_each(softmax);
            }
        }
        Ok(())
    }
}

impl Tile<'_> {
    /// Gives `store` the scores of each row for the keys `start..start + cols`.
    fn each_score(
        &mut self,
        unit: &Unit,
        (start, cols): (usize, usize),
        stage: ScoreStage,
        mut store: impl FnMut(usize, StepBy<slice::Iter<'_, f32>>),
    ) -> Result<(), RunError> {
        if self.chip.is_some() {
            self.pack_queries(unit);
            self.pack_keys(unit, (start, cols));
            for first in (0..unit.rows()).step_by(COLUMNS) {
                self.score_panel(unit, first, (start, cols), stage);
                let columns = 0..COLUMNS.min(unit.rows() - first);
                columns.for_each(|column| store(first + column, self.scores[column..].iter().step_by(COLUMNS)));
            }
            return Ok(());
        }
        self.gather_queries(unit);
        self.score(unit, start, cols, stage)?;
        let rows = self.scores.chunks_exact(self.attention.pitch(cols)).take(unit.rows());
        rows.enumerate().for_each(|(row, scores)| store(row, scores.iter().step_by(1)));
        Ok(())
    }
}

fn softmax(row: &mut [f32]) {
    let base = finite_base(row.iter().copied().fold(f32::NEG_INFINITY, f32::max));
    row.iter_mut().for_each(|x| *x = (*x - base).exp());
    let sum: f32 = row.iter().sum();
    if sum != 0.0 {
        row.iter_mut().for_each(|x| *x /= sum);
    }
}
