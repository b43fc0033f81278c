//! A checked list of steps and its execution.
//!
//! [`Tape::new`] verifies once that no step writes what it also reads or writes elsewhere; on that rests the
//! soundness of [`Io`], which hands each driver its operands while all ranks run.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use smallvec::SmallVec;

use crate::driver::{Driver, RunError};
use crate::mem::{AlignedBuf, OutOfMemory, Workspace, WorkspaceReq};
use crate::rt::{Team, TeamError, Worker};
use crate::tensor::Element;

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
}

/// Why a list of steps is not a tape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TapeError {
    /// Step `step` names a buffer that does not exist.
    UnknownBuffer { step: usize },
    /// Step `step` writes to a buffer that overlaps another of its operands or is not writable.
    Aliased { step: usize },
}

/// Why a run failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TapeRunError {
    /// Input or output `index` has `given` bytes, not the `expected` ones.
    Size {
        index: usize,
        given: usize,
        expected: usize,
    },
    /// The step with this label failed.
    Step {
        label: usize,
        error: RunError,
    },
    Team(TeamError),
    Memory(OutOfMemory),
}

impl std::fmt::Display for TapeRunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TapeRunError::Size { index, given, expected } => {
                write!(f, "operand {index} has {given} bytes, expected {expected}")
            }
            TapeRunError::Step { error, .. } => error.fmt(f),
            TapeRunError::Team(error) => error.fmt(f),
            TapeRunError::Memory(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TapeRunError {}

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
        Ok(Self { buffers, steps, waits, req, input_bytes, output_bytes })
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

    /// Runs all steps on `team`. `inputs` must be aligned to their element type; no memory is allocated once
    /// `workspace` has met [`Tape::workspace_req`].
    ///
    /// # Errors
    /// [`TapeRunError`]; the contents of `outputs` are then unspecified.
    pub fn run(
        &self,
        team: &Team,
        workspace: &mut Workspace,
        inputs: &[&[u8]],
        outputs: &mut [&mut [u8]],
    ) -> Result<(), TapeRunError> {
        check_sizes(&self.input_bytes, inputs.iter().map(|bytes| bytes.len()))?;
        check_sizes(&self.output_bytes, outputs.iter().map(|bytes| bytes.len()))?;
        workspace.reserve(self.req, team.size()).map_err(TapeRunError::Memory)?;
        let per_rank = WorkspaceReq { shared: 0, per_rank: self.req.per_rank }.bytes(1);
        let work = workspace.as_mut_ptr();
        let bases = Bases {
            work,
            // SAFETY: `reserve` made room for the shared area followed by the scratch areas.
            scratch: unsafe { work.add(workspace.len() - per_rank * team.size()) },
            inputs: inputs.iter().map(|bytes| bytes.as_ptr()).collect(),
            outputs: outputs.iter_mut().map(|bytes| bytes.as_mut_ptr()).collect(),
        };
        let failure = Mutex::new(None);
        let team_result = team.run(&|worker| self.run_rank(worker, &bases, per_rank, &failure));
        match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(failure) => Err(failure),
            None => team_result.map_err(TapeRunError::Team),
        }
    }

    fn run_rank(&self, worker: &Worker<'_>, bases: &Bases, per_rank: usize, failure: &Mutex<Option<TapeRunError>>) {
        let mut lease = worker.scratchpad(per_rank);
        let scratch = match &mut lease {
            Some(block) => &mut block[..per_rank],
            // SAFETY: each rank has its own `per_rank` bytes behind `scratch`, and ranks differ.
            None => unsafe { std::slice::from_raw_parts_mut(bases.scratch.add(per_rank * worker.rank()), per_rank) },
        };
        for (step, &waits) in self.steps.iter().zip(&self.waits) {
            if waits && worker.barrier().is_err() {
                return;
            }
            let io = Io { tape: self, step, bases };
            let result = step.driver.run(worker, &io, &mut scratch[..step.driver.scratch()]);
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

fn check_step(buffers: &[Buffer], step: &Step, index: usize) -> Result<(), TapeError> {
    let get = |id: usize| buffers.get(id).ok_or(TapeError::UnknownBuffer { step: index });
    for (position, &output) in step.outputs.iter().enumerate() {
        let written = get(output)?;
        if matches!(written.place, Place::Input(_) | Place::Const(_)) {
            return Err(TapeError::Aliased { step: index });
        }
        let others = step.outputs.iter().skip(position + 1).chain(&step.inputs);
        for &other in others {
            if overlap(written, get(other)?) {
                return Err(TapeError::Aliased { step: index });
            }
        }
    }
    step.inputs.iter().try_for_each(|&input| get(input).map(|_| ()))
}

/// For each step whether it touches bytes that a step since the last barrier writes, or writes bytes that one reads.
/// Independent neighbours, such as the projections of one attention, run as one: a rank that is done goes ahead.
fn waits(buffers: &[Buffer], steps: &[Step]) -> Vec<bool> {
    let touch = |a: &[usize], b: &[usize]| a.iter().any(|&a| b.iter().any(|&b| overlap(&buffers[a], &buffers[b])));
    let mut first = 0;
    let mut waits = Vec::with_capacity(steps.len());
    for (index, step) in steps.iter().enumerate() {
        let depends = steps[first..index].iter().any(|earlier| {
            touch(&earlier.outputs, &step.inputs)
                || touch(&earlier.outputs, &step.outputs)
                || touch(&earlier.inputs, &step.outputs)
        });
        if depends {
            first = index;
        }
        waits.push(depends);
    }
    waits
}

fn overlap(a: &Buffer, b: &Buffer) -> bool {
    match (&a.place, &b.place) {
        (Place::Output(a), Place::Output(b)) => a == b,
        (Place::Work(x), Place::Work(y)) => *x < y + b.bytes && *y < x + a.bytes,
        _ => false,
    }
}

fn note_size(sizes: &mut Vec<usize>, index: usize, bytes: usize) {
    if sizes.len() <= index {
        sizes.resize(index + 1, 0);
    }
    sizes[index] = sizes[index].max(bytes);
}

fn check_sizes(expected: &[usize], given: impl ExactSizeIterator<Item = usize>) -> Result<(), TapeRunError> {
    let count = given.len();
    for (index, given) in given.enumerate().take(expected.len()) {
        if given != expected[index] && expected[index] != 0 {
            return Err(TapeRunError::Size { index, given, expected: expected[index] });
        }
    }
    match expected.get(count) {
        Some(&missing) => Err(TapeRunError::Size { index: count, given: 0, expected: missing }),
        None => Ok(()),
    }
}

/// Addresses of one run.
struct Bases {
    work: *mut u8,
    scratch: *mut u8,
    inputs: SmallVec<[*const u8; 16]>,
    outputs: SmallVec<[*mut u8; 16]>,
}

// SAFETY: the pointers stay valid for the run, and `Io` lets ranks write only disjoint parts through them.
unsafe impl Sync for Bases {}

/// The operands of one step, as a driver sees them.
pub struct Io<'a> {
    tape: &'a Tape,
    step: &'a Step,
    bases: &'a Bases,
}

impl<'a> Io<'a> {
    /// Elements of input `index` of the step.
    pub(crate) fn input<T: Element>(&self, index: usize) -> &'a [T] {
        let buffer = &self.tape.buffers[self.step.inputs[index]];
        let data = match &buffer.place {
            Place::Input(input) => self.bases.inputs[*input],
            Place::Output(output) => self.bases.outputs[*output].cast_const(),
            // SAFETY: `Tape::run` reserved the area up to `offset + bytes`.
            Place::Work(offset) => unsafe { self.bases.work.add(*offset).cast_const() },
            Place::Const(bytes) => bytes.as_ptr(),
        };
        let len = buffer.bytes / size_of::<T>();
        if len == 0 {
            return &[];
        }
        assert!(data.cast::<T>().is_aligned(), "operand is not aligned to its element");
        // SAFETY: the place holds `bytes` initialised bytes for the run; `Tape::new` made sure that no output of
        // this step overlaps it, and puts a barrier between steps of which one writes what the other touches. `T` is
        // plain data.
        unsafe { std::slice::from_raw_parts(data.cast(), len) }
    }

    /// Number of inputs of the step.
    pub(crate) fn inputs(&self) -> usize {
        self.step.inputs.len()
    }

    /// Output `index` of the step, shared by all ranks.
    pub(crate) fn output<T: Element>(&self, index: usize) -> SharedOut<'a, T> {
        let buffer = &self.tape.buffers[self.step.outputs[index]];
        let data = match &buffer.place {
            Place::Output(output) => self.bases.outputs[*output],
            // SAFETY: `Tape::run` reserved the area up to `offset + bytes`.
            Place::Work(offset) => unsafe { self.bases.work.add(*offset) },
            Place::Input(_) | Place::Const(_) => unreachable!("`Tape::new` rejects outputs in inputs and constants"),
        };
        let len = buffer.bytes / size_of::<T>();
        let data = if len == 0 { std::ptr::NonNull::<T>::dangling().as_ptr() } else { data.cast::<T>() };
        assert!(data.is_aligned(), "operand is not aligned to its element");
        SharedOut { data, len, _borrow: PhantomData }
    }
}

/// An output that all ranks write at the same time, each its own part.
#[derive(Clone, Copy)]
pub(crate) struct SharedOut<'a, T> {
    data: *mut T,
    len: usize,
    _borrow: PhantomData<&'a mut [T]>,
}

// SAFETY: access goes through `range`, whose contract keeps ranks apart.
unsafe impl<T: Send> Send for SharedOut<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for SharedOut<'_, T> {}

impl<'a, T: Element> SharedOut<'a, T> {
    /// The elements of `range`. They may hold anything; write before reading.
    ///
    /// # Safety
    /// Between two barriers no other rank may call this with an overlapping range, and the caller may not hold two
    /// overlapping slices at once.
    ///
    /// # Panics
    /// When `range` is out of bounds.
    pub unsafe fn range(&self, range: Range<usize>) -> &'a mut [T] {
        assert!(range.start <= range.end && range.end <= self.len, "output range out of bounds");
        // SAFETY: in bounds by the assertion; exclusive by this function's contract and `Tape::new`.
        unsafe { std::slice::from_raw_parts_mut(self.data.add(range.start), range.len()) }
    }
}

#[cfg(test)]
mod tests;
