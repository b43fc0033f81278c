//! A compiled group and its runs.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use kernels::isa::Target;
use kernels::mem::{AlignedBuf, MemoryBackend, Workspace};
use kernels::tape::{Argument, TapeRunError};
use kernels::tensor::{DType, Dims, TensorView};
use smallvec::SmallVec;

use crate::Error;
use crate::dump::{Dumped, TensorDump};
use crate::plan::{Binding, Label, PlanNode, Planner, Program, WeightStore};
use crate::profile::{Profile, Slices};
use crate::workers::Workers;

/// An input of a group, as the caller must give it.
pub(crate) struct GroupInput {
    pub slot: usize,
    pub dtype: Option<DType>,
    /// The contents decide shapes, so they belong to the binding.
    pub decides_shapes: bool,
}

/// A constant that steps read as it is.
pub(crate) struct GroupConstant {
    pub slot: usize,
    pub dtype: DType,
    pub dims: Dims,
    pub bytes: Arc<AlignedBuf>,
}

/// A group of nodes that ONNX Runtime calls as one. Any number of threads may run it at the same time.
pub struct CompiledGroup {
    /// Number of the group in its session.
    pub(crate) index: usize,
    pub(crate) target: Target,
    pub(crate) nodes: Vec<PlanNode>,
    pub(crate) slots: usize,
    pub(crate) inputs: Vec<GroupInput>,
    pub(crate) outputs: Vec<usize>,
    pub(crate) constants: Vec<GroupConstant>,
    pub(crate) labels: Arc<[Label]>,
    pub(crate) input_names: Vec<String>,
    pub(crate) output_names: Vec<String>,
    pub(crate) workers: Arc<Workers>,
    pub(crate) programs: Mutex<Vec<Arc<Program>>>,
    pub(crate) workspaces: Mutex<Vec<Workspace>>,
    /// Programs that the group keeps; the least recently used one goes first.
    pub(crate) plan_cache: usize,
    pub(crate) mem_backend: MemoryBackend,
    pub(crate) dump: Option<TensorDump>,
    pub(crate) slices: Arc<Slices>,
    /// Made when a run is profiled first.
    pub(crate) profile: OnceLock<Profile>,
}

/// A program found for the shapes of one call, ready to execute.
pub struct Run<'g> {
    group: &'g CompiledGroup,
    program: Arc<Program>,
    /// Number of the run among those that are dumped.
    dumped: Option<usize>,
}

impl CompiledGroup {
    /// Names of the inputs, in the order in which [`CompiledGroup::begin`] takes them. Constants are not among them.
    pub fn input_names(&self) -> &[String] {
        &self.input_names
    }

    pub fn output_names(&self) -> &[String] {
        &self.output_names
    }

    /// Finds the program for these inputs, or plans it.
    ///
    /// # Errors
    /// [`Error::Input`] when a type is not the declared one, [`Error::Node`] when shapes do not fit a node,
    /// [`Error::Option`] when the inputs cannot be dumped.
    pub fn begin(&self, inputs: &[TensorView<'_>]) -> Result<Run<'_>, Error> {
        let program = match self.find(inputs) {
            Some(program) => program,
            None => self.plan_and_keep(inputs)?,
        };
        let dumped = self.dump.as_ref().map(|dump| self.dump_inputs(dump, inputs)).transpose()?;
        Ok(Run { group: self, program, dumped })
    }

    fn plan_and_keep(&self, inputs: &[TensorView<'_>]) -> Result<Arc<Program>, Error> {
        WeightStore::global().give_back_originals();
        let program = Arc::new(self.plan(inputs)?);
        let mut programs = lock(&self.programs);
        programs.truncate(self.plan_cache - 1);
        programs.insert(0, Arc::clone(&program));
        Ok(program)
    }

    fn dump_inputs<'a>(&'a self, dump: &TensorDump, inputs: &'a [TensorView<'a>]) -> Result<usize, Error> {
        let run = dump.next_run();
        let values = self.input_names.iter().zip(inputs);
        let value = |(name, view): (&'a String, &'a TensorView<'a>)| Dumped {
            name,
            dtype: view.dtype,
            dims: view.dims,
            bytes: view.bytes,
        };
        dump.write(run, "input", values.map(value))?;
        Ok(run)
    }

    fn find(&self, inputs: &[TensorView<'_>]) -> Option<Arc<Program>> {
        let mut programs = lock(&self.programs);
        let at = programs.iter().position(|program| program.binding.fits(inputs))?;
        programs[..=at].rotate_right(1);
        programs.first().cloned()
    }

    /// Plans a program without keeping it.
    pub fn plan(&self, inputs: &[TensorView<'_>]) -> Result<Program, Error> {
        let _span = tracing::debug_span!("plan", nodes = self.nodes.len()).entered();
        self.check(inputs)?;
        let mut planner = Planner::new(self.target, self.slots);
        let mut binding = Binding::default();
        for constant in &self.constants {
            planner.constant(constant.slot, constant.dtype, &constant.dims, Arc::clone(&constant.bytes));
        }
        for (index, (input, view)) in self.inputs.iter().zip(inputs).enumerate() {
            binding.dims.push(Dims::from_slice(view.dims));
            if input.decides_shapes {
                binding.contents.push((index, view.bytes.to_vec()));
                planner.constant(input.slot, view.dtype, view.dims, Arc::new(AlignedBuf::copy_of(view.bytes)));
            } else {
                planner.input(input.slot, index, view);
            }
        }
        for node in &self.nodes {
            planner.bind_node(node).map_err(|error| self.node_error(node.label, error.to_string()))?;
        }
        let outputs = planner.finish(&self.outputs, Arc::clone(&self.labels), binding);
        outputs.map_err(|error| Error::Graph(error.to_string()))
    }

    fn profile(&self) -> &Profile {
        self.profile.get_or_init(|| Profile::new(Arc::clone(&self.slices), self.index))
    }

    fn check(&self, inputs: &[TensorView<'_>]) -> Result<(), Error> {
        if inputs.len() != self.inputs.len() {
            let reason = format!("{} inputs are given, the group has {}", inputs.len(), self.inputs.len());
            return Err(Error::Graph(reason));
        }
        for ((input, view), name) in self.inputs.iter().zip(inputs).zip(&self.input_names) {
            if input.dtype.is_some_and(|dtype| dtype != view.dtype) {
                let reason = format!("the type is {}, the model declares another", view.dtype);
                return Err(Error::Input { name: name.clone(), reason });
            }
        }
        Ok(())
    }

    fn node_error(&self, label: usize, reason: String) -> Error {
        match self.labels.get(label) {
            Some(label) => Error::Node { node: label.node.clone(), op: label.op.clone(), reason },
            None => Error::Graph(reason),
        }
    }
}

impl Run<'_> {
    /// Dimensions of output `index`.
    pub fn output_dims(&self, index: usize) -> &[usize] {
        &self.program.outputs[index].1
    }

    pub fn output_dtype(&self, index: usize) -> DType {
        self.program.outputs[index].0
    }

    /// The program that will run.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Whether input `input` may be the memory of output `output`: a cache that the group updates in place.
    pub fn may_share(&self, input: usize, output: usize) -> bool {
        self.program.tape.may_share(input, output)
    }

    /// [`Run::execute_sharing`] with inputs that are apart from the outputs.
    ///
    /// # Errors
    /// As [`Run::execute_sharing`].
    pub fn execute(self, inputs: &[TensorView<'_>], outputs: &mut [&mut [u8]]) -> Result<(), Error> {
        let inputs: SmallVec<[Argument<'_>; 16]> = inputs.iter().map(|input| Argument::Bytes(input.bytes)).collect();
        self.execute_sharing(&inputs, outputs)
    }

    /// Executes the program. `inputs` are those given to [`CompiledGroup::begin`]; each output has the bytes that
    /// its dimensions and type ask for.
    ///
    /// # Errors
    /// [`Error::Node`] when the data do not fit a node, [`Error::System`] when workers or memory fail, [`Error::Option`]
    /// when the outputs cannot be dumped; the outputs are then unspecified.
    pub fn execute_sharing(self, inputs: &[Argument<'_>], outputs: &mut [&mut [u8]]) -> Result<(), Error> {
        let team = self.group.workers.team()?;
        let idle = lock(&self.group.workspaces).pop();
        let mut workspace = idle.unwrap_or_else(|| Workspace::of(self.group.mem_backend));
        let mut run = || self.program.tape.run_sharing(&team, &mut workspace, inputs, outputs);
        let result = if self.group.slices.wanted() { self.group.profile().run(&self.program, run) } else { run() };
        lock(&self.group.workspaces).push(workspace);
        result.map_err(|error| self.error(error))?;
        match (&self.group.dump, self.dumped) {
            (Some(dump), Some(run)) => self.dump_outputs(dump, run, outputs),
            _ => Ok(()),
        }
    }

    fn dump_outputs<'o>(&'o self, dump: &TensorDump, run: usize, outputs: &'o [&mut [u8]]) -> Result<(), Error> {
        let value = |(index, name): (usize, &'o String)| {
            let (dtype, dims) = &self.program.outputs[index];
            Dumped { name, dtype: *dtype, dims, bytes: &*outputs[index] }
        };
        dump.write(run, "output", self.group.output_names.iter().enumerate().map(value))
    }

    fn error(&self, error: TapeRunError) -> Error {
        match error {
            TapeRunError::Step { label, error } => self.group.node_error(label, error.to_string()),
            TapeRunError::Team(error) => Error::System(error.to_string()),
            TapeRunError::Memory(error) => Error::System(error.to_string()),
            error @ (TapeRunError::Size { .. } | TapeRunError::Shared { .. }) => Error::Graph(error.to_string()),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
