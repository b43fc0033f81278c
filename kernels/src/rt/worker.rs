use std::ops::Range;

use super::barrier::{Barrier, Poisoned};
use super::equipment::Scratchpad;
use crate::isa::Isa;
use crate::tcm::Loan;

/// One rank inside [`super::Team::run`].
pub struct Worker<'a> {
    rank: usize,
    size: usize,
    barrier: &'a Barrier,
    isa: Isa,
    scratchpad: Option<Scratchpad<'a>>,
}

impl<'a> Worker<'a> {
    pub(super) fn new(rank: usize, size: usize, barrier: &'a Barrier, isa: Isa) -> Self {
        Self { rank, size, barrier, isa, scratchpad: None }
    }

    pub(super) fn with_scratchpad(mut self, scratchpad: Option<Scratchpad<'a>>) -> Self {
        self.scratchpad = scratchpad;
        self
    }

    pub fn rank(&self) -> usize {
        self.rank
    }

    pub fn size(&self) -> usize {
        self.size
    }

    /// What this rank's core can execute, and its team may use.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// At least `bytes` of the scratchpad beside this rank's core, until the loan is dropped; `None` where there is
    /// none, it is too small, another process uses it, or this rank has it already.
    pub(crate) fn scratchpad(&self, bytes: usize) -> Option<Loan<'a>> {
        self.scratchpad.as_ref()?.lend(bytes)
    }

    /// Waits until every rank has arrived. Writes before it are visible to all ranks after it.
    pub fn barrier(&self) -> Result<(), Poisoned> {
        self.barrier.wait()
    }

    /// Makes every other rank leave its next barrier with [`Poisoned`].
    pub fn poison(&self) {
        self.barrier.poison();
    }

    /// This rank's part of `0..total`, cut at multiples of `grain`. The parts of all ranks are disjoint and cover
    /// `0..total`; they differ by at most one grain.
    pub fn share(&self, total: usize, grain: usize) -> Range<usize> {
        let grain = grain.max(1);
        let grains = total.div_ceil(grain);
        let cut = |rank: usize| ((grains * rank).div_ceil(self.size) * grain).min(total);
        cut(self.rank)..cut(self.rank + 1)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn shares_are_disjoint_and_cover() {
        for size in 1..=5 {
            let barrier = Barrier::new(size, std::time::Duration::ZERO);
            for total in [0, 1, 7, 64, 65, 1000] {
                for grain in [1, 8, 64] {
                    let mut next = 0;
                    for rank in 0..size {
                        let share = Worker::new(rank, size, &barrier, Isa::SCALAR).share(total, grain);
                        assert_eq!(share.start, next);
                        assert!(share.start == total || share.start.is_multiple_of(grain));
                        next = share.end;
                    }
                    assert_eq!(next, total);
                }
            }
        }
    }
}
