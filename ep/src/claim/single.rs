//! Nodes that run one by one, as kernels registered with ONNX Runtime.

use super::{Partition, lower};
use crate::ir::{Attr, Graph, Node, NodeId, ValueId};
use crate::ops::{self, Code, Decline, Op, Work};
use crate::options::ClaimOption;
use crate::{Options, Target};

/// Claims each node by itself, without fusions.
///
/// A kernel sees no constants of an outer graph, so none are seen here. It costs no more boundary than a kernel of the
/// CPU provider, so only nodes that move data are not worth one: ONNX Runtime's own kernels often need not copy.
pub(super) fn partition<'w>(mut graph: Graph<'w>, target: &Target, options: &Options) -> Partition<'w> {
    graph.forget_outer_constants();
    let (mut kernels, mut declines) = (Vec::new(), Vec::new());
    for (id, node) in graph.nodes().filter(|&(id, _)| !graph.is_taken(id)) {
        let claim = lower(&graph, node, target, options).and_then(|op| check(&graph, node, &*op, options.claim));
        match claim {
            Ok(()) => kernels.push(id),
            Err(decline) => declines.push((id, decline)),
        }
    }
    Partition { graph, groups: Vec::new(), lent: None, kernels, declines }
}

fn check(graph: &Graph<'_>, node: &Node<'_>, op: &dyn Op, claim: ClaimOption) -> Result<(), Decline> {
    if let Some((name, _)) = node.attrs.iter().find(|(_, attr)| !is_readable(attr)) {
        return Err(Decline::new(Code::Attribute, format!("a kernel cannot read the attribute '{name}'")));
    }
    let known = |value: ValueId| {
        let value = graph.value(value);
        value.constant.is_some() || value.shape.as_ref().is_some_and(|shape| shape.len() <= 1)
    };
    let unknown = |index: &&usize| node.input(**index).is_some_and(|value| !known(value));
    if let Some(index) = op.shape_inputs().iter().find(unknown) {
        let reason = format!("input {index} decides shapes and is not known to be a scalar or vector");
        return Err(Decline::new(Code::Dependency, reason));
    }
    if claim == ClaimOption::Auto && ops::work(node) == Work::Glue {
        return Err(Decline::new(Code::Worth, "the operator computes nothing that is worth a kernel"));
    }
    Ok(())
}

/// Takes the groups out that are one node of the model, but for those to `keep`, and returns those nodes. Nodes that use
/// constants of an outer graph stay: only compiled nodes see them.
pub(super) fn take_lone(
    graph: &Graph<'_>,
    groups: &mut Vec<Vec<NodeId>>,
    keep: impl Fn(&[NodeId]) -> bool,
) -> Vec<NodeId> {
    let is_lone = |nodes: &mut Vec<NodeId>| match nodes[..] {
        [id] if !keep(nodes) => graph.node(id).is_some_and(|node| stands_alone(graph, node)),
        _ => false,
    };
    groups.extract_if(.., is_lone).flatten().collect()
}

fn stands_alone(graph: &Graph<'_>, node: &Node<'_>) -> bool {
    let is_lent = |value: ValueId| graph.value(value).outer && graph.value(value).constant.is_some();
    node.origins.len() == 1
        && node.attrs.iter().all(|(_, attr)| is_readable(attr))
        && !node.inputs.iter().flatten().any(|&value| is_lent(value))
}

/// Whether ONNX Runtime tells a kernel attributes of this kind.
fn is_readable(attr: &Attr<'_>) -> bool {
    match attr {
        Attr::Int(_) | Attr::Float(_) | Attr::Str(_) | Attr::Ints(_) | Attr::Floats(_) | Attr::Tensor(_) => true,
        Attr::Strs(_) | Attr::Graph | Attr::Other => false,
    }
}

#[cfg(test)]
mod tests;
