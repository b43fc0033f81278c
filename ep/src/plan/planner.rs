use std::sync::{Arc, OnceLock};

use kernels::driver::Driver;
use kernels::isa::Target;
use kernels::mem::{AlignedBuf, Workspace};
use kernels::ops::copy::Copy;
use kernels::rt::Team;
use kernels::tape::{Buffer, Place, Step, Tape};
use kernels::tensor::{DType, Dims, TensorView};

use super::bind::{Bind, BindError, Buf};
use super::memory::{Lifetime, place};
use super::program::{Binding, Label, Program};
use super::upper_bound::UpperBound;
use crate::ops::Op;

/// A lowered node of a group.
pub(crate) struct PlanNode {
    pub op: Box<dyn Op>,
    /// Value slots.
    pub inputs: Vec<Option<usize>>,
    pub outputs: Vec<Option<usize>>,
    /// Index of the node's name in the group's labels.
    pub label: usize,
}

/// A value with a concrete shape.
#[derive(Clone, Debug)]
pub(super) struct Bound {
    pub dtype: DType,
    pub dims: Dims,
    pub buf: Buf,
    pub known: Option<Arc<AlignedBuf>>,
    /// What else is known of a mask.
    pub at_most: Option<UpperBound>,
}

/// Where the contents of a planned buffer come from.
#[derive(Clone, Debug)]
pub(super) enum Content {
    Input(usize),
    Known(Arc<AlignedBuf>),
    Computed,
}

struct BufferSpec {
    bytes: usize,
    content: Content,
}

/// Results up to this size are computed at once when all they depend on is known: the masks and position biases of
/// long sequences are among them.
const FOLD_LIMIT: usize = 16 << 20;

/// Collects the steps of a program while operators bind their shapes.
pub(crate) struct Planner {
    pub(super) target: Target,
    values: Vec<Option<Bound>>,
    buffers: Vec<BufferSpec>,
    steps: Vec<Step>,
}

impl Planner {
    pub fn new(target: Target, slots: usize) -> Self {
        Self { target, values: vec![None; slots], buffers: Vec::new(), steps: Vec::new() }
    }

    /// Gives `slot` fixed contents.
    pub fn constant(&mut self, slot: usize, dtype: DType, dims: &[usize], bytes: Arc<AlignedBuf>) {
        let buf = self.add_buffer(bytes.len(), Content::Known(Arc::clone(&bytes)));
        let dims = Dims::from_slice(dims);
        self.values[slot] = Some(Bound { dtype, dims, buf, known: Some(bytes), at_most: None });
    }

    /// Gives `slot` the caller's input `index`.
    pub fn input(&mut self, slot: usize, index: usize, view: &TensorView<'_>) {
        let buf = self.add_buffer(view.bytes.len(), Content::Input(index));
        let (dtype, dims) = (view.dtype, Dims::from_slice(view.dims));
        self.values[slot] = Some(Bound { dtype, dims, buf, known: None, at_most: None });
    }

    pub(super) fn value(&self, slot: usize) -> Option<&Bound> {
        self.values[slot].as_ref()
    }

    pub(super) fn add_buffer(&mut self, bytes: usize, content: Content) -> Buf {
        self.buffers.push(BufferSpec { bytes, content });
        Buf(self.buffers.len() - 1)
    }

    pub(super) fn add_step(&mut self, driver: Box<dyn Driver>, inputs: &[Buf], outputs: &[Buf], label: usize) {
        let ids = |bufs: &[Buf]| bufs.iter().map(|buf| buf.0).collect::<Vec<_>>();
        self.steps.push(Step { driver, inputs: ids(inputs).into(), outputs: ids(outputs).into(), label });
    }

    /// Binds one node; its inputs must have been bound before.
    pub fn bind_node(&mut self, node: &PlanNode) -> Result<(), BindError> {
        let first_step = self.steps.len();
        let mut bind = Bind::new(self, node);
        node.op.bind(&mut bind)?;
        let mut outputs = bind.finish();
        let bytes: usize = outputs.iter().flatten().map(|bound| self.buffers[bound.buf.0].bytes).sum();
        let inputs_known =
            node.inputs.iter().flatten().all(|&slot| self.value(slot).is_some_and(|bound| bound.known.is_some()));
        if inputs_known && bytes <= FOLD_LIMIT && self.steps.len() > first_step {
            self.fold(first_step, &mut outputs)?;
        }
        for bound in outputs.iter_mut().flatten().filter(|bound| self.buffers[bound.buf.0].bytes == 0) {
            // Of an empty tensor everything is known; an operator need not make a step for it.
            bound.known.get_or_insert_with(|| Arc::new(AlignedBuf::zeroed(0)));
        }
        for (slot, bound) in node.outputs.iter().zip(outputs) {
            if let Some(slot) = *slot {
                let missing = || BindError::new("an output was left without a value");
                self.values[slot] = Some(bound.ok_or_else(missing)?);
            }
        }
        Ok(())
    }

    /// Runs the steps from `first` on at once and makes their results known.
    fn fold(&mut self, first: usize, outputs: &mut [Option<Bound>]) -> Result<(), BindError> {
        let steps = self.steps.split_off(first);
        let mut work = 0;
        let mut buffers: Vec<Buffer> = Vec::with_capacity(self.buffers.len());
        for spec in &self.buffers {
            let place = match &spec.content {
                Content::Known(bytes) => Place::Const(Arc::clone(bytes)),
                Content::Computed | Content::Input(_) => Place::Work(work),
            };
            work += spec.bytes.next_multiple_of(kernels::mem::ALIGNMENT);
            buffers.push(Buffer { place, bytes: spec.bytes });
        }
        let mut results: Vec<Buf> = outputs.iter().flatten().map(|bound| bound.buf).collect();
        results.retain(|buf| matches!(self.buffers[buf.0].content, Content::Computed));
        results.dedup();
        for (index, buf) in results.iter().enumerate() {
            buffers[buf.0].place = Place::Output(index);
        }
        let failed = |reason: String| BindError(format!("a constant expression could not be computed: {reason}"));
        let tape = Tape::new(keep_used(buffers, &steps), steps).map_err(|error| failed(format!("{error:?}")))?;
        let mut owned: Vec<AlignedBuf> =
            results.iter().map(|buf| AlignedBuf::zeroed(self.buffers[buf.0].bytes)).collect();
        let team = Team::new(1).map_err(|error| failed(error.to_string()))?;
        let mut views: Vec<&mut [u8]> = owned.iter_mut().map(|bytes| &mut **bytes).collect();
        tape.run(&team, &mut Workspace::new(), &[], &mut views).map_err(|error| failed(error.to_string()))?;
        for (buf, bytes) in results.into_iter().zip(owned) {
            let bytes = Arc::new(bytes);
            self.buffers[buf.0].content = Content::Known(Arc::clone(&bytes));
            for bound in outputs.iter_mut().flatten().filter(|bound| bound.buf == buf) {
                bound.known = Some(Arc::clone(&bytes));
            }
        }
        Ok(())
    }

    /// Places all buffers and makes the program. `outputs` are the slots that the caller wants.
    pub fn finish(mut self, outputs: &[usize], labels: Arc<[Label]>, binding: Binding) -> Result<Program, BindError> {
        let mut places: Vec<Option<Place>> = self
            .buffers
            .iter()
            .map(|spec| match &spec.content {
                Content::Input(index) => Some(Place::Input(*index)),
                Content::Known(bytes) => Some(Place::Const(Arc::clone(bytes))),
                Content::Computed => None,
            })
            .collect();
        let mut results = Vec::with_capacity(outputs.len());
        for (index, &slot) in outputs.iter().enumerate() {
            let missing = || BindError::new("an output of the group is not computed");
            let bound = self.values[slot].clone().ok_or_else(missing)?;
            let mut target = bound.buf;
            if places[target.0].is_some() {
                let bytes = self.buffers[target.0].bytes;
                target = self.add_buffer(bytes, Content::Computed);
                places.push(None);
                self.add_step(Box::new(Copy::new(bytes)), &[bound.buf], &[target], labels.len());
            }
            places[target.0] = Some(Place::Output(index));
            results.push((bound.dtype, bound.dims));
        }
        let buffers = self.place_rest(places);
        let buffers = keep_used(buffers, &self.steps);
        let tape = Tape::new(buffers, self.steps).map_err(|error| BindError(format!("{error:?}")))?;
        let tape = tape.with_scratchpads_of(self.target.tcm_bytes);
        Ok(Program { tape, outputs: results, labels, binding, texts: OnceLock::new() })
    }

    /// Puts the buffers that have no place yet into the workspace.
    fn place_rest(&self, places: Vec<Option<Place>>) -> Vec<Buffer> {
        let mut lifetimes: Vec<Option<Lifetime>> = vec![None; self.buffers.len()];
        for (index, step) in self.steps.iter().enumerate() {
            for &id in step.inputs.iter().chain(&step.outputs) {
                let fresh = Lifetime { bytes: self.buffers[id].bytes, first: index, last: index };
                lifetimes[id].get_or_insert(fresh).last = index;
            }
        }
        let open: Vec<usize> =
            (0..places.len()).filter(|&id| places[id].is_none() && lifetimes[id].is_some()).collect();
        let offsets = place(&open.iter().filter_map(|&id| lifetimes[id]).collect::<Vec<_>>());
        let mut buffers: Vec<Buffer> = places
            .into_iter()
            .zip(&self.buffers)
            .map(|(place, spec)| Buffer { place: place.unwrap_or(Place::Work(0)), bytes: spec.bytes })
            .collect();
        for (id, offset) in open.into_iter().zip(offsets) {
            buffers[id].place = Place::Work(offset);
        }
        buffers
    }
}

/// Empties buffers that no step touches, so that they take no room.
fn keep_used(mut buffers: Vec<Buffer>, steps: &[Step]) -> Vec<Buffer> {
    let mut used = vec![false; buffers.len()];
    steps.iter().flat_map(|step| step.inputs.iter().chain(&step.outputs)).for_each(|&id| used[id] = true);
    for (buffer, used) in buffers.iter_mut().zip(used) {
        if !used && !matches!(buffer.place, Place::Output(_)) {
            *buffer = Buffer { place: Place::Work(0), bytes: 0 };
        }
    }
    buffers
}
