use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use kernels::isa::Machine;

use crate::claim::partition;
use crate::dump::{TensorDump, dump_subgraph};
use crate::exec::{CompiledGroup, GroupConstant, GroupInput};
use crate::ir::{Graph, ValueId};
use crate::ops::{self, Lower, Packing};
use crate::plan::{Label, PlanNode, WeightStore};
use crate::profile::{Slices, Trace};
use crate::report::{Origins, Report};
use crate::target::target;
use crate::workers::Workers;
use crate::{Error, Options, Target, fuse};

/// The provider of one session.
pub struct Provider {
    options: Options,
    target: Target,
    report: Arc<Report>,
    workers: Arc<Workers>,
    slices: Arc<Slices>,
    /// Groups compiled so far, by which files of dumps are named.
    compiled: AtomicUsize,
}

/// What the provider takes of a graph.
#[derive(Clone, Debug, Default)]
pub struct Claims {
    /// For each group to compile the origins of its nodes.
    pub groups: Vec<Vec<usize>>,
    /// The group whose constant stays with ONNX Runtime and is an input of each run; see [`Graph::lend`].
    pub lent: Option<usize>,
    /// Origins of the nodes to run one by one, as registered kernels.
    pub kernels: Vec<usize>,
}

impl Provider {
    /// A provider with these options.
    ///
    /// # Errors
    /// [`Error::Option`] when an option cannot be met.
    pub fn new(options: Options) -> Result<Self, Error> {
        let target = target(&options, Machine::here())?;
        let report = Arc::new(Report::default());
        let workers = Arc::new(Workers::new(options.clone(), target, Arc::clone(&report)));
        let slices = Arc::new(Slices::new(options.profile.as_deref().map(Trace::create).transpose()?));
        Ok(Self { options, target, report, workers, slices, compiled: AtomicUsize::new(0) })
    }

    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Changes `cores`, `threads` and `spin_us` for the runs that begin from now on; all that is given or, on an error,
    /// nothing. Results stay the same to the bit.
    ///
    /// # Errors
    /// [`Error::Option`] for other options and for values that cannot be met, [`Error::System`] when workers do not start.
    pub fn change<'a>(&self, pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<(), Error> {
        self.workers.change(pairs)
    }

    /// Where the slices of this session's runs go.
    pub fn slices(&self) -> Arc<Slices> {
        Arc::clone(&self.slices)
    }

    /// Decides which nodes to take and writes the report. A pure function of the graph, but for the report.
    ///
    /// # Errors
    /// [`Error::Option`] when the report cannot be written.
    pub fn claim(&self, graph: &Graph<'_>) -> Result<Claims, Error> {
        let _span = tracing::debug_span!("claim", graph = graph.name).entered();
        let names = Origins::of(graph);
        let partition = partition(graph.clone(), &self.target, &self.options);
        if let Some(path) = &self.options.report {
            self.report.write(path, &self.target, &partition, &names)?;
        }
        for (id, decline) in &partition.declines {
            if let Some(node) = partition.graph.node(*id) {
                tracing::debug!(node = node.name, op = node.qualified_op(), %decline, "declined");
            }
        }
        let origins = |id| partition.graph.node(id).map_or(&[][..], |node| &node.origins).iter().copied();
        let groups: Vec<Vec<usize>> =
            partition.groups.iter().map(|nodes| nodes.iter().flat_map(|&id| origins(id)).collect()).collect();
        let kernels: Vec<usize> = partition.kernels.iter().flat_map(|&id| origins(id)).collect();
        tracing::info!(
            graph = graph.name,
            nodes = graph.nodes().count(),
            claimed = groups.iter().map(Vec::len).sum::<usize>() + kernels.len(),
            groups = groups.len(),
            kernels = kernels.len(),
            "claimed"
        );
        Ok(Claims { groups, lent: partition.lent, kernels })
    }

    /// Compiles one claimed group, or one node as a graph of its own: fuses it again, packs its weights and keeps its
    /// constants.
    ///
    /// # Errors
    /// [`Error::Node`] when a node does not lower, which the claim excludes for graphs of its own groups;
    /// [`Error::Option`] when the group cannot be dumped.
    pub fn compile(&self, graph: &Graph<'_>) -> Result<CompiledGroup, Error> {
        let index = self.compiled.fetch_add(1, Ordering::Relaxed);
        if let Some(folder) = &self.options.dump_subgraphs {
            dump_subgraph(folder, index, graph)?;
        }
        let pack = || self.lower_group(graph, index, Packing::Pack(WeightStore::global()));
        let mut group = self.options.mem_backend.serve(pack)?;
        group.dump = self.options.dump_tensors.as_deref().map(|folder| TensorDump::new(folder, index));
        Ok(group)
    }

    /// Compiles a group for its plans only: no weight is packed, so it cannot run.
    ///
    /// # Errors
    /// As [`Provider::compile`].
    pub fn outline(&self, graph: &Graph<'_>) -> Result<CompiledGroup, Error> {
        self.lower_group(graph, 0, Packing::Plan)
    }

    fn lower_group(&self, graph: &Graph<'_>, index: usize, packing: Packing<'_>) -> Result<CompiledGroup, Error> {
        let _span = tracing::debug_span!("compile", graph = graph.name).entered();
        self.workers.team()?;
        let mut graph = graph.clone();
        fuse::run(&mut graph, &self.target, &self.options);
        let (mut nodes, mut labels, mut kept) = (Vec::new(), Vec::new(), HashSet::new());
        for (_, node) in graph.nodes() {
            let cx = Lower::new(&graph, node, &self.target, self.options.accuracy, packing);
            let op = ops::lower(&cx).map_err(|decline| Error::Node {
                node: node.name.clone(),
                op: node.qualified_op(),
                reason: decline.to_string(),
            })?;
            let absorbed = op.absorbed_inputs();
            let needed = node.inputs.iter().enumerate().filter(|(index, _)| !absorbed.contains(index));
            kept.extend(needed.filter_map(|(_, value)| *value));
            let slots = |ids: &[Option<ValueId>]| ids.iter().map(|id| id.map(ValueId::index)).collect();
            nodes.push(PlanNode {
                op,
                inputs: slots(&node.inputs),
                outputs: slots(&node.outputs),
                label: labels.len(),
            });
            labels.push(Label { node: node.name.clone(), op: node.qualified_op() });
        }
        kept.extend(graph.outputs());
        let deciding = shape_deciding_values(&graph, &nodes);
        let inputs: Vec<ValueId> =
            graph.inputs().iter().copied().filter(|&id| graph.value(id).constant.is_none()).collect();
        let names = |ids: &[ValueId]| ids.iter().map(|&id| graph.value(id).name.clone()).collect();
        Ok(CompiledGroup {
            index,
            target: self.target,
            constants: constants(&graph, kept),
            input_names: names(&inputs),
            output_names: names(graph.outputs()),
            inputs: inputs
                .iter()
                .map(|id| GroupInput {
                    slot: id.index(),
                    dtype: graph.value(*id).dtype,
                    decides_shapes: deciding.contains(&id.index()),
                })
                .collect(),
            outputs: graph.outputs().iter().map(|id| id.index()).collect(),
            slots: graph.value_count(),
            nodes,
            labels: labels.into(),
            workers: Arc::clone(&self.workers),
            programs: Mutex::default(),
            workspaces: Mutex::default(),
            plan_cache: self.options.plan_cache,
            mem_backend: self.options.mem_backend,
            dump: None,
            slices: Arc::clone(&self.slices),
            profile: OnceLock::new(),
        })
    }
}

/// Constants that nodes read as they are.
fn constants(graph: &Graph<'_>, kept: HashSet<ValueId>) -> Vec<GroupConstant> {
    let constant = |id: ValueId| {
        let tensor = graph.value(id).constant.as_ref()?;
        let bytes = WeightStore::global().keep(tensor);
        Some(GroupConstant { slot: id.index(), dtype: tensor.dtype, dims: tensor.dims.clone(), bytes })
    };
    kept.into_iter().filter_map(constant).collect()
}

/// Slots whose contents must be known when shapes are bound: shape inputs, and all that they are computed from.
fn shape_deciding_values(graph: &Graph<'_>, nodes: &[PlanNode]) -> HashSet<usize> {
    let mut deciding: HashSet<usize> = HashSet::new();
    for node in nodes.iter().rev() {
        let read: &[usize] = node.op.shape_inputs();
        deciding.extend(read.iter().filter_map(|&index| node.inputs.get(index).copied().flatten()));
        let feeds = node.outputs.iter().flatten().any(|slot| deciding.contains(slot));
        if feeds && !node.op.reads_only_shapes() {
            deciding.extend(node.inputs.iter().flatten());
        }
    }
    debug_assert!(deciding.iter().all(|&slot| slot < graph.value_count()));
    deciding
}

#[cfg(test)]
mod tests;
