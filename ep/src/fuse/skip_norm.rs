//! A normalisation of a sum.

use super::pattern::{Fused, Match};
use super::{FusionRule, Rewrite, Skip};
use crate::ir::{Attr, Dim, Graph, Node, NodeId, ValueId};
use crate::ops::MICROSOFT;

pub const SKIP: FusionRule = FusionRule {
    name: "SkipNorm",
    pattern: "LayerNormalization|SimplifiedLayerNormalization(x + skip) -> SkipLayerNormalization|\
              SkipSimplifiedLayerNormalization; skip broadcasts to x; the sum may be read elsewhere",
    fuse,
};

fn fuse<'w>(graph: &mut Graph<'w>, id: NodeId) -> Result<Rewrite<'w>, Skip> {
    let norm = graph.node(id).ok_or(Skip::NoMatch)?;
    let op_type = match (norm.domain.as_str(), norm.op_type.as_str()) {
        ("", "LayerNormalization") => "SkipLayerNormalization",
        ("" | MICROSOFT, "SimplifiedLayerNormalization") | ("", "RMSNormalization") => {
            "SkipSimplifiedLayerNormalization"
        }
        _ => return Err(Skip::NoMatch),
    };
    let mut m = Match::new(graph);
    m.take_node(id);
    let add = m.take(norm.input(0), "Add").ok_or(Skip::NoMatch)?;
    let (a, b) = add.input(0).zip(add.input(1)).ok_or(Skip::NoMatch)?;
    let (x, skip) = if broadcasts(graph, b, a) {
        (a, b)
    } else if broadcasts(graph, a, b) {
        (b, a)
    } else {
        return Err(Skip::Condition("the terms have not visibly one shape".into()));
    };
    if !over_last_axis(graph, norm, x) || norm.outputs.iter().skip(1).any(Option::is_some) {
        return Err(Skip::Condition("the normalisation is not over the last dimension alone".into()));
    }
    let epsilon = norm.attrs.get("epsilon").cloned().unwrap_or(Attr::Float(1e-5));
    let sum = add.output(0).filter(|&sum| graph.only_consumer(sum).is_none());
    let mut inputs = vec![Some(x), Some(skip)];
    inputs.extend_from_slice(norm.inputs.get(1..).unwrap_or_default());
    m.rewrite(Fused {
        domain: MICROSOFT,
        op_type,
        version: 1,
        inputs,
        outputs: vec![norm.output(0), None, None, sum],
        attrs: vec![("epsilon", epsilon)],
    })
}

fn over_last_axis(graph: &Graph<'_>, norm: &Node<'_>, x: ValueId) -> bool {
    let rank = graph.value(x).shape.as_ref().map(Vec::len);
    let stash = matches!(norm.attrs.get("stash_type"), None | Some(Attr::Int(1)));
    let last = match norm.attrs.get("axis") {
        None => true,
        Some(Attr::Int(axis)) => *axis == -1 || rank.is_some_and(|rank| *axis == rank as i64 - 1),
        Some(_) => false,
    };
    stash && last
}

/// Whether `from` is seen to broadcast to `to` by lacking outer dimensions or having 1 there.
fn broadcasts(graph: &Graph<'_>, from: ValueId, to: ValueId) -> bool {
    let (Some(from), Some(to)) = (&graph.value(from).shape, &graph.value(to).shape) else { return false };
    let outer = from.iter().take_while(|&dim| *dim == Dim::Known(1)).count();
    let inner = &from[outer..];
    from.len() <= to.len() && !inner.is_empty() && to.ends_with(inner) && !inner.contains(&Dim::Unknown)
}

#[cfg(test)]
mod tests;
