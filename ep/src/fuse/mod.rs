//! Fusions: each rule in its own file, applied in the order of [`RULES`].

mod conv;
mod dequantized;
mod duplicate;
mod embedding;
mod epilogue;
mod gelu;
mod kv_cache;
mod linear;
mod nbits;
mod nbits_gate;
mod norm;
mod pattern;
mod quantized;
mod repeat_kv;
mod rotate_half;
mod sdpa;
mod sigmoid;
mod sizes;
mod skip_norm;
#[cfg(test)]
pub(crate) mod tests;
mod transpose;

use crate::claim::disabled;
use crate::ir::{Graph, Node, NodeId};
use crate::ops::{self, Lower, Packing};
use crate::{Options, Target};

/// Why a rule does not apply at a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Skip {
    /// The pattern does not begin at this node.
    NoMatch,
    /// The pattern is there but a condition fails; the text says which.
    Condition(String),
}

/// Nodes to take away and nodes to put in their place.
pub struct Rewrite<'w> {
    pub remove: Vec<NodeId>,
    pub add: Vec<Node<'w>>,
}

/// One fusion. A rule looks only at the nodes it takes away, their constants and the readers of their results, so that
/// it decides about a claimed group as it did about the whole graph. What the taken nodes read from elsewhere, constants
/// aside, the new nodes read too: groups stay convex.
pub struct FusionRule {
    pub name: &'static str,
    /// The pattern in one line, for the documentation.
    pub pattern: &'static str,
    /// Tries the rule at `node`. New constants may be added to the graph; nodes only through the rewrite.
    pub fuse: for<'w> fn(graph: &mut Graph<'w>, node: NodeId) -> Result<Rewrite<'w>, Skip>,
}

/// All rules, in the order in which they run: what a rule makes, later rules may use.
pub const RULES: &[FusionRule] = &[
    // Patterns know a value by its name, so each has one only.
    duplicate::DEQUANTIZE,
    // Elementwise formulas become operators, which the linear layers below take as activations.
    gelu::ERF,
    gelu::TANH,
    sigmoid::GATE,
    // LayerNorm has an RmsNorm of the deviations inside, so it comes first.
    norm::LAYER,
    norm::ROOT_MEAN_SQUARE,
    // Attention takes the products of activations; its transpositions have to be plain before.
    transpose::THROUGH_RESHAPE,
    rotate_half::ROTATE_HALF,
    sdpa::SDPA,
    repeat_kv::REPEAT_KV,
    kv_cache::KV_CACHE,
    embedding::SCALED,
    // Products with constants, then what follows them, in the order of the epilogue.
    quantized::QUANTIZED,
    nbits::NBITS,
    dequantized::DEQUANTIZED,
    linear::MATMUL,
    linear::GEMM,
    epilogue::BIAS,
    linear::RESHAPE,
    epilogue::ACTIVATION,
    nbits_gate::GATE,
    epilogue::RESIDUAL,
    conv::ACTIVATION,
    conv::RESIDUAL,
    conv::RESIDUAL_ACTIVATION,
    // Sums that no linear layer has taken.
    skip_norm::SKIP,
];

/// Applies all rules. A rewrite is kept only when none of its nodes, old and new, is disabled and every new one lowers.
pub fn run(graph: &mut Graph<'_>, target: &Target, options: &Options) {
    for rule in RULES {
        let ids: Vec<NodeId> = graph.nodes().map(|(id, _)| id).collect();
        for id in ids {
            if graph.node(id).is_some() {
                apply(rule, graph, id, target, options);
            }
        }
        if !graph.sort() {
            tracing::error!(rule = rule.name, "a fusion made a cycle");
        }
    }
}

fn apply(rule: &FusionRule, graph: &mut Graph<'_>, id: NodeId, target: &Target, options: &Options) {
    let rewrite = match (rule.fuse)(graph, id) {
        Ok(rewrite) => rewrite,
        Err(Skip::NoMatch) => return,
        Err(Skip::Condition(reason)) => {
            let node = graph.node(id).map_or("", |node| &node.name);
            tracing::debug!(rule = rule.name, node, reason, "not fused");
            return;
        }
    };
    let mut nodes = rewrite.remove.iter().filter_map(|&id| graph.node(id)).chain(&rewrite.add);
    if nodes.any(|node| disabled(node, options).is_some()) {
        return;
    }
    for node in &rewrite.add {
        if let Err(decline) = ops::lower(&Lower::new(graph, node, target, options.accuracy, Packing::Plan)) {
            tracing::debug!(rule = rule.name, node = node.name, %decline, "not fused: the result would not run");
            return;
        }
    }
    graph.replace(&rewrite.remove, rewrite.add);
}
