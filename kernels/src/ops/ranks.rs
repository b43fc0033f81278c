//! How the ranks of a team share an output matrix.

use std::ops::Range;

use crate::rt::Worker;

/// Multiplications below which waking another rank costs more than it saves.
const WORTH_A_RANK: usize = 1 << 17;

/// An output of `m` rows and `panels` panels of columns, to be cut into one block for each rank.
pub(crate) struct Matrix {
    pub m: usize,
    /// Rows that a kernel takes at once.
    pub row_grain: usize,
    pub panels: usize,
    /// Columns of a panel.
    pub panel: usize,
    pub k: usize,
}

impl Matrix {
    /// Rows and panels of this rank; either may be empty. The blocks of all ranks are disjoint and cover the matrix.
    pub fn share(&self, worker: &Worker<'_>) -> (Range<usize>, Range<usize>) {
        let work = self.m.saturating_mul(self.panels * self.panel).saturating_mul(self.k);
        let ranks = worker.size().min(work / WORTH_A_RANK).max(1);
        let down = (1..=ranks).min_by_key(|&down| self.cost(down, ranks / down)).unwrap_or(1);
        let across = ranks / down;
        if worker.rank() >= down * across {
            return (0..0, 0..0);
        }
        let (row, column) = (worker.rank() / across, worker.rank() % across);
        let grains = self.m.div_ceil(self.row_grain);
        let rows = part(grains, row, down);
        let rows = rows.start * self.row_grain..(rows.end * self.row_grain).min(self.m);
        (rows, part(self.panels, column, across))
    }

    /// Multiplications of the busiest rank, then the elements it reads, in units of `k`.
    fn cost(&self, down: usize, across: usize) -> (usize, usize) {
        let rows = self.m.div_ceil(self.row_grain).div_ceil(down) * self.row_grain;
        let columns = self.panels.div_ceil(across) * self.panel;
        (rows.saturating_mul(columns), rows + columns)
    }
}

/// Part `index` of `0..total` cut into `parts` that differ by at most one.
fn part(total: usize, index: usize, parts: usize) -> Range<usize> {
    total * index / parts..total * (index + 1) / parts
}
