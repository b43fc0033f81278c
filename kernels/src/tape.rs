//! A checked list of steps and its execution.
//!
//! [`Tape::new`] verifies once that no step writes what it also reads or writes elsewhere; on that rests the
//! soundness of [`Io`], which hands each driver its operands while all ranks run.

mod check;
mod error;
mod io;

use std::sync::{Arc, Mutex, PoisonError};

use smallvec::SmallVec;

use crate::driver::{Driver, RunError};
use crate::mem::{AlignedBuf, Workspace, WorkspaceReq};
use crate::profile;
use crate::rt::{Poisoned, Team, Worker};

use check::{check_sizes, check_step, note_size, shareable, waits};
pub use error::{TapeError, TapeRunError};
pub use io::Io;
pub(crate) use io::SharedOut;

/// Where the bytes of a buffer are.
#[derive(Clone, Debug)]
pub enum Place {
    /// The caller's input of this index.
    Input(usize),
    /// The caller's output of this index.
    Output(usize),
    /// The shared area of the workspace, from this byte on.
    Work(usize),
    /// Fixed contents.
    Const(Arc<AlignedBuf>),
}

/// A buffer of a tape.
#[derive(Clone, Debug)]
pub struct Buffer {
    pub place: Place,
    pub bytes: usize,
}

/// A driver and the buffers it reads and writes, as indices into the tape's buffers.
pub struct Step {
    pub driver: Box<dyn Driver>,
    pub inputs: SmallVec<[usize; 4]>,
    pub outputs: SmallVec<[usize; 2]>,
    /// What the caller calls this step in errors; an index into a table of the caller's.
    pub label: usize,
}

/// Steps ready to run any number of times.
pub struct Tape {
    buffers: Vec<Buffer>,
    steps: Vec<Step>,
    /// Whether all ranks wait for each other before the step of this index.
    waits: Vec<bool>,
    req: WorkspaceReq,
    input_bytes: Vec<usize>,
    output_bytes: Vec<usize>,
    /// Pairs of an input and an output that may be the same memory.
    shareable: Vec<(usize, usize)>,
    /// Bytes of scratch up to which a step has it in the scratchpad of its rank.
    staged: usize,
}

/// An input of a run.
#[derive(Clone, Copy, Debug)]
pub enum Argument<'a> {
    Bytes(&'a [u8]),
    /// The memory of the output of this index, where [`Tape::may_share`] allows it.
    Output(usize),
}

impl Tape {
    /// Checks `steps` against `buffers`.
    ///
    /// # Errors
    /// [`TapeError`] when a step's output overlaps another operand of the same step, or lies in an input or a constant.
    pub fn new(buffers: Vec<Buffer>, steps: Vec<Step>) -> Result<Self, TapeError> {
        for (index, step) in steps.iter().enumerate() {
            check_step(&buffers, step, index)?;
        }
        let waits = waits(&buffers, &steps);
        let mut req = WorkspaceReq::default();
        let (mut input_bytes, mut output_bytes) = (Vec::new(), Vec::new());
        for buffer in &buffers {
            match buffer.place {
                Place::Work(offset) => req.shared = req.shared.max(offset + buffer.bytes),
                Place::Input(index) => note_size(&mut input_bytes, index, buffer.bytes),
                Place::Output(index) => note_size(&mut output_bytes, index, buffer.bytes),
                Place::Const(_) => {}
            }
        }
        for step in &steps {
            req.per_rank = req.per_rank.max(step.driver.scratch());
        }
        let shareable = shareable(&buffers, &steps, input_bytes.len(), output_bytes.len());
        Ok(Self { buffers, steps, waits, staged: req.per_rank, req, input_bytes, output_bytes, shareable })
    }

    /// Leaves steps with more than `bytes` of scratch out of the scratchpads, which are of that size, so that the others have them.
    #[must_use]
    pub fn with_scratchpads_of(mut self, bytes: usize) -> Self {
        let scratch = self.steps.iter().map(|step| step.driver.scratch());
        self.staged = scratch.filter(|&scratch| scratch <= bytes).max().unwrap_or(0);
        self
    }

    /// Whether `step` has its scratch in the scratchpad of its rank where that is free; else it is on the heap, or there is none.
    pub fn is_staged(&self, step: &Step) -> bool {
        (1..=self.staged).contains(&step.driver.scratch())
    }

    /// A number that no other tape has while this one is there: its address.
    pub fn id(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    pub fn buffers(&self) -> &[Buffer] {
        &self.buffers
    }

    /// What [`Tape::run`] reserves in the workspace.
    pub fn workspace_req(&self) -> WorkspaceReq {
        self.req
    }

    /// Whether the caller may give the memory of `output` for `input`: one step updates it, no other reads the input.
    pub fn may_share(&self, input: usize, output: usize) -> bool {
        self.shareable.contains(&(input, output))
    }

    /// [`Tape::run_sharing`] with inputs that are apart from the outputs.
    ///
    /// # Errors
    /// As [`Tape::run_sharing`].
    pub fn run(
        &self,
        team: &Team,
        workspace: &mut Workspace,
        inputs: &[&[u8]],
        outputs: &mut [&mut [u8]],
    ) -> Result<(), TapeRunError> {
        let inputs: SmallVec<[Argument<'_>; 16]> = inputs.iter().map(|bytes| Argument::Bytes(bytes)).collect();
        self.run_sharing(team, workspace, &inputs, outputs)
    }

    /// Runs all steps on `team`. `inputs` must be aligned to their element type; no memory is allocated once
    /// `workspace` has met [`Tape::workspace_req`].
    ///
    /// # Errors
    /// [`TapeRunError`]; the contents of `outputs` are then unspecified.
    pub fn run_sharing(
        &self,
        team: &Team,
        workspace: &mut Workspace,
        inputs: &[Argument<'_>],
        outputs: &mut [&mut [u8]],
    ) -> Result<(), TapeRunError> {
        let mut bases: SmallVec<[Option<*const u8>; 16]> = SmallVec::new();
        for (input, argument) in inputs.iter().enumerate() {
            bases.push(match *argument {
                Argument::Bytes(bytes) => Some(bytes.as_ptr()),
                Argument::Output(output) if self.may_share(input, output) => None,
                Argument::Output(output) => return Err(TapeRunError::Shared { input, output }),
            });
        }
        let input_len = |argument: &Argument<'_>| match *argument {
            Argument::Bytes(bytes) => bytes.len(),
            Argument::Output(output) => outputs.get(output).map_or(0, |bytes| bytes.len()),
        };
        check_sizes(&self.input_bytes, inputs.iter().map(input_len))?;
        check_sizes(&self.output_bytes, outputs.iter().map(|bytes| bytes.len()))?;
        workspace.reserve(self.req, team.size()).map_err(TapeRunError::Memory)?;
        let per_rank = WorkspaceReq { shared: 0, per_rank: self.req.per_rank }.bytes(1);
        let work = workspace.as_mut_ptr();
        let bases = Bases {
            work,
            // SAFETY: `reserve` made room for the shared area followed by the scratch areas.
            scratch: unsafe { work.add(workspace.len() - per_rank * team.size()) },
            inputs: bases,
            outputs: outputs.iter_mut().map(|bytes| bytes.as_mut_ptr()).collect(),
        };
        let failure = Mutex::new(None);
        let subscriber = profile::subscriber();
        let run_rank = |worker: &Worker<'_>| self.run_rank(worker, &bases, per_rank, &failure);
        let team_result = team.run(&|worker| profile::with_subscriber(subscriber.as_ref(), || run_rank(worker)));
        match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(failure) => Err(failure),
            None => team_result.map_err(TapeRunError::Team),
        }
    }

    fn run_rank(&self, worker: &Worker<'_>, bases: &Bases, per_rank: usize, failure: &Mutex<Option<TapeRunError>>) {
        let mut loan = worker.scratchpad(self.staged);
        let _span = profile::span!("rank", rank = worker.rank(), tcm = loan.as_ref().map_or(0, |block| block.len()));
        // SAFETY: each rank has its own `per_rank` bytes behind `scratch`, and ranks differ.
        let heap = unsafe { std::slice::from_raw_parts_mut(bases.scratch.add(per_rank * worker.rank()), per_rank) };
        for (index, (step, &waits)) in self.steps.iter().zip(&self.waits).enumerate() {
            if waits && wait(worker).is_err() {
                return;
            }
            let _span = profile::span!("step", tape = self.id(), index, label = step.label, kernel = %step.driver);
            let io = Io { tape: self, step, bases };
            let bytes = step.driver.scratch();
            let scratch = match &mut loan {
                Some(block) if bytes <= self.staged => &mut block[..bytes],
                _ => &mut heap[..bytes],
            };
            let result = step.driver.run(worker, &io, scratch);
            if let Err(error) = result {
                if error != RunError::Poisoned {
                    let mut first = failure.lock().unwrap_or_else(PoisonError::into_inner);
                    first.get_or_insert(TapeRunError::Step { label: step.label, error });
                }
                worker.poison();
                return;
            }
        }
    }
}

fn wait(worker: &Worker<'_>) -> Result<(), Poisoned> {
    let _span = profile::span!("wait");
    worker.barrier()
}

/// Addresses of one run.
struct Bases {
    work: *mut u8,
    scratch: *mut u8,
    /// `None` for an input that is the memory of an output.
    inputs: SmallVec<[Option<*const u8>; 16]>,
    outputs: SmallVec<[*mut u8; 16]>,
}

// SAFETY: the pointers stay valid for the run, and `Io` lets ranks write only disjoint parts through them.
unsafe impl Sync for Bases {}

#[cfg(test)]
mod tests;
