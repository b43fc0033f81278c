use std::sync::Arc;

use crate::isa::Isa;
use crate::tcm::{Loan, Tcm};

/// What a resident thread has to work with.
#[derive(Clone)]
pub(super) struct Equipment {
    /// What its core can execute.
    pub isa: Isa,
    /// The scratchpads, and the core whose block is near.
    pub tcm: Option<(Arc<Tcm>, usize)>,
}

impl Equipment {
    pub fn new(isa: Isa) -> Self {
        Self { isa, tcm: None }
    }

    /// Number of the scratchpad's block.
    pub fn block(&self) -> Option<usize> {
        self.tcm.as_ref().and_then(|(tcm, cpu)| tcm.block_of(*cpu))
    }
}

/// The scratchpad that a rank may use in one run.
#[derive(Clone, Copy)]
pub(super) struct Scratchpad<'a> {
    pub tcm: &'a Tcm,
    pub cpu: usize,
    /// Most bytes of it.
    pub limit: usize,
}

impl<'a> Scratchpad<'a> {
    /// A block of at least `bytes`, if that is within the limit and the block is free.
    pub fn lend(&self, bytes: usize) -> Option<Loan<'a>> {
        if bytes == 0 || bytes > self.limit { None } else { self.tcm.lend(self.cpu, bytes) }
    }
}
