//! Which nodes the provider takes, and in which groups.

mod single;
mod table;

use std::collections::{BTreeMap, HashMap};

use kernels::isa::CoreKind;

use crate::fuse;
use crate::ir::{Graph, Node, NodeId, ValueId};
use crate::ops::{self, Code, Decline, Lower, Op, Packing, Work};
use crate::options::{ClaimOption, ModeOption, TargetOption};
use crate::{Options, Target};

/// Fate of each node of a graph after fusion.
pub struct Partition<'w> {
    /// The graph after fusion.
    pub graph: Graph<'w>,
    /// Claimed nodes of each group that is compiled, in topological order.
    pub groups: Vec<Vec<NodeId>>,
    /// The group that reads its one constant where ONNX Runtime has it, in each run.
    pub lent: Option<usize>,
    /// Claimed nodes that run one by one, as registered kernels.
    pub kernels: Vec<NodeId>,
    pub declines: Vec<(NodeId, Decline)>,
}

/// A group with no heavy node must have this many light ones to be worth its boundary.
const LIGHT_NODES: usize = 8;

/// Fused nodes of a graph beyond this number make ONNX Runtime take seconds, then minutes, to start.
const GROUP_LIMIT: usize = 100;

/// Claims nodes of `graph` as the option `mode` says.
pub fn partition<'w>(graph: Graph<'w>, target: &Target, options: &Options) -> Partition<'w> {
    match options.mode {
        ModeOption::Kernels => single::partition(graph, target, options),
        ModeOption::Auto | ModeOption::Compile => partition_in_groups(graph, target, options),
    }
}

/// Fuses `graph`, lowers every node and merges the ones that lower into few convex groups.
fn partition_in_groups<'w>(mut graph: Graph<'w>, target: &Target, options: &Options) -> Partition<'w> {
    fuse::run(&mut graph, target, options);
    let mut declines = Vec::new();
    let mut lowered = HashMap::new();
    for (id, node) in graph.nodes().filter(|&(id, _)| !graph.is_taken(id)) {
        match lower(&graph, node, target, options) {
            Ok(op) => {
                lowered.insert(id, op);
            }
            Err(decline) => declines.push((id, decline)),
        }
    }
    decline_data_dependent(&graph, &mut lowered, &mut declines);
    let table = table::largest(&graph, &lowered);
    let mut groups = group(&graph, &lowered, table);
    let is_table = |nodes: &[NodeId]| table.is_some_and(|table| nodes == [table]);
    let mut leave = |nodes: Vec<NodeId>, reason: &str| {
        declines.extend(nodes.into_iter().map(|id| (id, Decline::new(Code::Worth, reason))));
    };
    if options.claim == ClaimOption::Auto {
        let any = groups.iter().any(|nodes| is_worth(&graph, nodes));
        for nodes in groups.extract_if(.., |nodes| !(is_worth(&graph, nodes) || (any && is_table(nodes)))) {
            leave(nodes, "the group has too little work to be worth its boundary");
        }
    }
    let kernels = match options.mode {
        ModeOption::Auto => single::take_lone(&graph, &mut groups, is_table),
        ModeOption::Compile | ModeOption::Kernels => Vec::new(),
    };
    for nodes in groups_beyond_limit(&graph, &mut groups) {
        leave(nodes, "the graph has too many groups, and this is one of the smaller ones");
    }
    let lent = groups.iter().position(|nodes| is_table(nodes));
    Partition { graph, groups, lent, kernels, declines }
}

/// Takes out the groups with the least work when there are more than [`GROUP_LIMIT`].
fn groups_beyond_limit(graph: &Graph<'_>, groups: &mut Vec<Vec<NodeId>>) -> Vec<Vec<NodeId>> {
    let size = |nodes: &Vec<NodeId>| (count(graph, nodes, Work::Heavy), nodes.len(), std::cmp::Reverse(nodes[0]));
    let mut sizes: Vec<_> = groups.iter().map(size).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    let Some(limit) = sizes.get(GROUP_LIMIT) else { return Vec::new() };
    groups.extract_if(.., |nodes| size(nodes) <= *limit).collect()
}

fn lower(graph: &Graph<'_>, node: &Node<'_>, target: &Target, options: &Options) -> Result<Box<dyn Op>, Decline> {
    // Scalar code of ours would be slower than the CPU provider's; the target can still be asked for.
    if target.core == CoreKind::Scalar && options.target == TargetOption::Auto {
        return Err(Decline::new(Code::Processor, "this processor has no vector extension (RVV 1.0)"));
    }
    if let Some(option) = disabled(node, options) {
        return Err(Decline::new(Code::Disabled, format!("option '{option}' excludes it")));
    }
    ops::lower(&Lower::new(graph, node, target, options.accuracy, Packing::Plan))
}

/// The option that keeps `node` away from the provider.
pub(crate) fn disabled(node: &Node<'_>, options: &Options) -> Option<&'static str> {
    if options.disable_ops.contains(&node.op_type) {
        return Some("disable_ops");
    }
    options.disable_nodes.contains(&node.name).then_some("disable_nodes")
}

/// Takes out nodes whose shapes depend on data that the provider itself would compute.
///
/// The contents of a value are known when shapes are bound if it is a constant, is computed from constants and shapes
/// by claimed nodes, or is a scalar or vector that comes from outside, which then belongs to the binding. One pass in
/// topological order settles each value once.
fn decline_data_dependent(
    graph: &Graph<'_>,
    lowered: &mut HashMap<NodeId, Box<dyn Op>>,
    declines: &mut Vec<(NodeId, Decline)>,
) {
    // Whether the outputs of a claimed node are known.
    let mut computed: HashMap<NodeId, bool> = HashMap::new();
    for (id, node) in graph.nodes() {
        let Some(op) = lowered.get(&id) else { continue };
        let known = |value: ValueId| {
            let outside = || graph.value(value).shape.as_ref().is_some_and(|shape| shape.len() <= 1);
            let claimed = graph.producer(value).and_then(|(producer, _)| computed.get(&producer).copied());
            graph.value(value).constant.is_some() || claimed.unwrap_or_else(outside)
        };
        let unknown = |index: &&usize| node.input(**index).is_some_and(|value| !known(value));
        if let Some(index) = op.shape_inputs().iter().find(unknown) {
            let reason = format!("input {index} decides shapes and is computed from data in the graph");
            declines.push((id, Decline::new(Code::Dependency, reason)));
            lowered.remove(&id);
        } else {
            let all_known = op.reads_only_shapes() || node.inputs.iter().flatten().all(|&value| known(value));
            computed.insert(id, all_known);
        }
    }
}

/// Merges claimed nodes into convex groups.
///
/// Each node gets a level: claimed nodes even ones, the others odd ones, never below the level of an input. A path
/// that leaves a claimed node and comes back to one passes a higher level, so the claimed nodes of one level are
/// convex, and each level makes one group. The reader of a `table` counts as one of the others, and is a group by itself.
fn group(graph: &Graph<'_>, lowered: &HashMap<NodeId, Box<dyn Op>>, table: Option<NodeId>) -> Vec<Vec<NodeId>> {
    let mut levels = Levels::new();
    let in_group = |id: NodeId| lowered.contains_key(&id) && Some(id) != table;
    for (id, node) in graph.nodes() {
        let inputs = node.inputs.iter().flatten();
        let above = inputs.filter_map(|&input| Some(levels[&graph.producer(input)?.0])).max().unwrap_or(0);
        levels.insert(id, if above.is_multiple_of(2) == in_group(id) { above } else { above + 1 });
    }
    if table.is_some() {
        table::sink(graph, lowered, &mut levels);
    }
    let mut groups: BTreeMap<usize, Vec<NodeId>> = BTreeMap::new();
    for (id, _) in graph.nodes().filter(|(id, _)| lowered.contains_key(id)) {
        groups.entry(levels[&id]).or_default().push(id);
    }
    groups.into_values().collect()
}

/// See [`group`].
type Levels = HashMap<NodeId, usize>;

/// A group is worth its boundary when it has a heavy node or at least [`LIGHT_NODES`] light ones.
fn is_worth(graph: &Graph<'_>, nodes: &[NodeId]) -> bool {
    count(graph, nodes, Work::Heavy) > 0 || count(graph, nodes, Work::Light) >= LIGHT_NODES
}

fn count(graph: &Graph<'_>, nodes: &[NodeId], work: Work) -> usize {
    nodes.iter().filter(|id| graph.node(**id).map_or(Work::Glue, ops::work) == work).count()
}

#[cfg(test)]
mod tests;
