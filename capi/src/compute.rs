//! A fused node: one per claimed group and session. Its `Compute` may run on several threads at once.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

use ep::{Argument, CompiledGroup, DType, Run, TensorView};
use ort_sys::{OrtKernelContext, OrtStatusPtr};
use smallvec::SmallVec;

use crate::guard;
use crate::handle::{KernelContext, Node, ValueInfo};
use crate::host::Host;
use crate::import;
use crate::log::Logger;
use crate::status::Error;
use crate::sys::{EP_VERSION, OrtNodeComputeContext, OrtNodeComputeInfo};

/// Lists as long as the inputs or outputs of a group; on the stack for all but unusually wide ones.
type PerValue<T> = SmallVec<[T; 16]>;

#[repr(C)]
pub(crate) struct NodeCompute {
    callbacks: OrtNodeComputeInfo,
    host: Host,
    logger: Logger,
    group: CompiledGroup,
    /// Position in the fused node's inputs of each input of the group.
    inputs: Vec<usize>,
    /// Position in the fused node's outputs of each output of the group.
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

impl NodeCompute {
    /// Connects `group` with the node that took its place. Fused nodes list each value once and no constants, so
    /// values are matched by name.
    pub(crate) fn new(host: Host, logger: Logger, group: CompiledGroup, fused: Node<'_>) -> Result<Box<Self>, Error> {
        let inputs = positions(group.input_names(), &fused.inputs()?)?;
        let outputs = positions(group.output_names(), &fused.outputs()?)?;
        Ok(Self::at(host, logger, group, inputs, outputs))
    }

    /// A node whose values are at these positions; those of the outputs are distinct.
    pub(crate) fn at(
        host: Host,
        logger: Logger,
        group: CompiledGroup,
        inputs: Vec<usize>,
        outputs: Vec<usize>,
    ) -> Box<Self> {
        let callbacks = OrtNodeComputeInfo {
            ort_version_supported: EP_VERSION,
            CreateState: create_state,
            Compute: compute,
            ReleaseState: release_state,
        };
        Box::new(Self { callbacks, host, logger, group, inputs, outputs, idle: Mutex::default() })
    }

    pub(crate) fn into_raw(this: Box<Self>) -> *mut OrtNodeComputeInfo {
        Box::into_raw(this).cast()
    }

    /// # Safety
    /// `this` is NULL, or from [`NodeCompute::into_raw`] and not used afterwards.
    pub(crate) unsafe fn release(this: *mut OrtNodeComputeInfo) {
        if !this.is_null() {
            // SAFETY: by the contract.
            drop(unsafe { Box::from_raw(this.cast::<Self>()) });
        }
    }

    /// # Safety
    /// `this` is from [`NodeCompute::into_raw`] and alive for `'a`.
    unsafe fn from_raw<'a>(this: *const OrtNodeComputeInfo) -> &'a Self {
        // SAFETY: `callbacks` is the first field of a `NodeCompute`; it is only ever shared.
        unsafe { &*this.cast::<Self>() }
    }

    /// Runs the group on the node's arguments. Allocates nothing once a shape was seen, unless a group has more
    /// inputs or outputs than [`PerValue`] holds.
    fn run(&self, context: KernelContext<'_>) -> Result<(), Error> {
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

/// Where each of `names` is in `values`; each value answers to one name.
fn positions(names: &[String], values: &[Option<ValueInfo<'_>>]) -> Result<Vec<usize>, Error> {
    let mut index = HashMap::new();
    for (position, value) in values.iter().enumerate() {
        if let Some(value) = value {
            index.insert(value.name()?, position);
        }
    }
    let missing = |name| Error::fail(format!("Spacemit: the fused node does not have the value '{name}'"));
    names.iter().map(|name| index.remove(name.as_str()).ok_or_else(|| missing(name))).collect()
}

/// The node itself is all the state there is.
unsafe extern "system" fn create_state(
    this: *mut OrtNodeComputeInfo,
    _context: *mut OrtNodeComputeContext,
    state: *mut *mut c_void,
) -> OrtStatusPtr {
    // SAFETY: ONNX Runtime passes a live node and an out pointer.
    unsafe {
        let node = NodeCompute::from_raw(this);
        guard::status(node.host, node.logger, || {
            *state = this.cast();
            Ok(())
        })
    }
}

unsafe extern "system" fn compute(
    this: *mut OrtNodeComputeInfo,
    _state: *mut c_void,
    context: *mut OrtKernelContext,
) -> OrtStatusPtr {
    // SAFETY: ONNX Runtime passes a live node, and a context that is live during the call.
    let (node, context) = unsafe {
        let node = NodeCompute::from_raw(this);
        (node, KernelContext::new(node.host, context))
    };
    guard::status(node.host, node.logger, || node.run(context))
}

unsafe extern "system" fn release_state(_: *mut OrtNodeComputeInfo, _: *mut c_void) {}
