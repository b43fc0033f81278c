//! Runs a compiled group on the arguments of a node, a fused one or one with a registered kernel. Several threads may do
//! so at once.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use ep::{Argument, CompiledGroup, DType, Run, TensorView};
use smallvec::SmallVec;

use crate::handle::KernelContext;
use crate::import;
use crate::status::Error;

/// Lists as long as the inputs or outputs of a group; on the stack for all but unusually wide ones.
type PerValue<T> = SmallVec<[T; 16]>;

/// A group and where its values are among those of the node.
pub(crate) struct Runner {
    group: CompiledGroup,
    /// Position in the node's inputs of each input of the group.
    inputs: Vec<usize>,
    /// Position in the node's outputs of each output of the group; distinct.
    outputs: Vec<usize>,
    /// Idle storage; as many as runs have overlapped.
    idle: Mutex<Vec<Scratch>>,
}

/// Storage of one run for copies by position; empty where none is needed.
#[derive(Default)]
struct Scratch {
    /// Of unaligned inputs.
    inputs: Vec<AlignedCopy>,
    /// Of inputs that are the memory of an output.
    shared: Vec<AlignedCopy>,
    /// Of unaligned outputs.
    outputs: Vec<AlignedCopy>,
}

/// Bytes aligned for every element type.
#[derive(Clone, Default)]
struct AlignedCopy(Vec<u64>);

impl AlignedCopy {
    fn resize(&mut self, len: usize) -> &mut [u8] {
        self.0.resize(len.div_ceil(size_of::<u64>()), 0);
        bytemuck::cast_slice_mut(&mut self.0).split_at_mut(len).0
    }

    /// `bytes` themselves if they are aligned for `dtype`, else a copy that is.
    fn of<'a>(&'a mut self, bytes: &'a [u8], dtype: DType) -> &'a [u8] {
        if is_aligned(bytes, dtype) {
            return bytes;
        }
        let copy = self.resize(bytes.len());
        copy.copy_from_slice(bytes);
        copy
    }
}

impl Runner {
    /// Finds the group's values by name among those of the node: by position, `None` where one is left out. A fused node
    /// lists each value once and no constants; any other may list them, and a value several times.
    pub(crate) fn new<T: AsRef<str>>(
        group: CompiledGroup,
        inputs: &[Option<T>],
        outputs: &[Option<T>],
    ) -> Result<Self, Error> {
        let inputs = positions(group.input_names(), inputs)?;
        let outputs = positions(group.output_names(), outputs)?;
        Ok(Self { group, inputs, outputs, idle: Mutex::default() })
    }

    /// Runs the group on the node's arguments. Allocates nothing once a shape was seen, unless a group has more
    /// inputs or outputs than [`PerValue`] holds.
    pub(crate) fn run(&self, context: KernelContext<'_>) -> Result<(), Error> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = idle().pop();
        let mut scratch = taken.unwrap_or_else(|| Scratch {
            inputs: vec![AlignedCopy::default(); self.inputs.len()],
            shared: vec![AlignedCopy::default(); self.inputs.len()],
            outputs: vec![AlignedCopy::default(); self.outputs.len()],
        });
        let result = self.run_with(&mut scratch, context);
        idle().push(scratch);
        result
    }

    fn run_with(&self, scratch: &mut Scratch, context: KernelContext<'_>) -> Result<(), Error> {
        let mut dims = SmallVec::<[usize; 64]>::new();
        let mut arguments = PerValue::new();
        for &index in &self.inputs {
            let tensor = context.input(index)?;
            let start = dims.len();
            let element = tensor.element_and_dims(|dim| dims.push(dim))?;
            let dtype = import::dtype(element).ok_or_else(|| {
                Error::fail(format!("Spacemit: input {index} has the unknown element type {element}"))
            })?;
            arguments.push((dtype, start..dims.len(), tensor.bytes()?));
        }
        let mut views = PerValue::new();
        for ((dtype, range, bytes), copy) in arguments.into_iter().zip(&mut scratch.inputs) {
            let dims = dims.get(range).unwrap_or_default();
            views.push(TensorView { dtype, dims, bytes: copy.of(bytes, dtype) });
        }

        let run = self.group.begin(&views)?;
        let mut targets = PerValue::new();
        for (output, &index) in self.outputs.iter().enumerate() {
            targets.push(context.output(index, run.output_dims(output))?);
        }
        let mut arguments = PerValue::new();
        for (input, (view, copy)) in views.into_iter().zip(&mut scratch.shared).enumerate() {
            arguments.push(argument(&run, input, view, &targets, copy));
        }
        let mut results = PerValue::new();
        let mut unaligned = PerValue::new();
        for (output, (target, copy)) in targets.into_iter().zip(&mut scratch.outputs).enumerate() {
            // SAFETY: `positions` made the indices distinct, so the host gave each target once; no argument refers to
            // a target's bytes.
            let bytes = unsafe { &mut *target };
            if is_aligned(bytes, run.output_dtype(output)) {
                results.push(bytes);
            } else {
                results.push(copy.resize(bytes.len()));
                unaligned.push((output, bytes));
            }
        }
        run.execute_sharing(&arguments, &mut results)?;
        for (output, bytes) in unaligned {
            bytes.copy_from_slice(results.get(output).map_or(&[], |result| &**result));
        }
        Ok(())
    }
}

/// Input `input` of a run whose outputs will be written to `targets`. Where a target is the same memory, the input is named
/// after it if the run may share the two, else read from a copy.
fn argument<'a>(
    run: &Run<'_>,
    input: usize,
    view: TensorView<'a>,
    targets: &[*mut [u8]],
    copy: &'a mut AlignedCopy,
) -> Argument<'a> {
    let given = view.bytes.as_ptr_range();
    let meets = |target: &*mut [u8]| {
        let start = target.cast::<u8>().cast_const();
        given.start < start.wrapping_add(target.len()) && start < given.end
    };
    let Some(output) = targets.iter().position(meets) else { return Argument::Bytes(view.bytes) };
    let target = targets
        .get(output)
        .copied()
        .filter(|target| target.cast::<u8>().cast_const() == given.start && target.len() == view.bytes.len());
    if target.is_some() && is_aligned(view.bytes, run.output_dtype(output)) && run.may_share(input, output) {
        return Argument::Output(output);
    }
    let bytes = copy.resize(view.bytes.len());
    bytes.copy_from_slice(view.bytes);
    Argument::Bytes(bytes)
}

/// Buffers that an application binds are only as aligned as the application made them.
fn is_aligned(bytes: &[u8], dtype: DType) -> bool {
    bytes.as_ptr().addr().is_multiple_of(dtype.size())
}

/// Where each of `names` is in `values`; no two are at one place.
fn positions<T: AsRef<str>>(names: &[String], values: &[Option<T>]) -> Result<Vec<usize>, Error> {
    let values = values.iter().enumerate().filter_map(|(position, name)| Some((name.as_ref()?.as_ref(), position)));
    let mut index: HashMap<&str, usize> = values.collect();
    let missing = |name| Error::fail(format!("Spacemit: the node does not have the value '{name}'"));
    names.iter().map(|name| index.remove(name.as_str()).ok_or_else(|| missing(name))).collect()
}
