//! The gated half of a feed-forward network.

use super::linear::Layer;
use super::pattern::{Fused, Match};
use super::{FusionRule, Rewrite, Skip};
use crate::ir::{Attr, Graph, NodeId};
use crate::ops::FUSED;

pub const GATE: FusionRule = FusionRule {
    name: "NBitsGate",
    pattern: "NBitsLinear(x, gate; silu|gelu|gelu_tanh) * NBitsLinear(x, up) -> NBitsGate; weights of one shape",
    fuse,
};

/// What both layers must have in common.
const SHAPE: [&str; 5] = ["K", "N", "bits", "block_size", "accuracy_level"];

fn fuse<'w>(graph: &mut Graph<'w>, id: NodeId) -> Result<Rewrite<'w>, Skip> {
    let output = graph.node(id).and_then(|node| node.output(0));
    let mut m = Match::new(graph);
    let matched = m.take_commutative(output, "Mul", |m, gate, up| {
        let (gate, up) = (Layer::take(m, gate)?, Layer::take(m, up)?);
        let plain =
            [&gate, &up].iter().all(|layer| layer.node.is(FUSED, "NBitsLinear") && !layer.has(layer.residual()));
        let gates = matches!(gate.node.attrs.get("activation"), Some(Attr::Str(_)));
        (plain && gates && up.node.attrs.get("activation").is_none()).then_some((gate, up))
    });
    let (gate, up) = matched.ok_or(Skip::NoMatch)?;
    let int = |layer: &Layer<'_, '_>, name| match layer.node.attrs.get(name) {
        Some(Attr::Int(value)) => Some(*value),
        _ => None,
    };
    if gate.node.input(0) != up.node.input(0) || SHAPE.iter().any(|name| int(&gate, name) != int(&up, name)) {
        return Err(Skip::Condition("the gate and what it lets through differ in input or shape".into()));
    }
    let mut inputs = vec![gate.node.input(0)];
    inputs.extend((1..5).map(|index| gate.node.input(index)));
    inputs.extend((1..5).map(|index| up.node.input(index)));
    let names = SHAPE.into_iter().chain(["activation"]);
    let attrs = names.filter_map(|name| Some((name, gate.node.attrs.get(name)?.clone()))).collect();
    m.rewrite(Fused { domain: FUSED, op_type: "NBitsGate", version: 1, inputs, outputs: vec![output], attrs })
}

#[cfg(test)]
mod tests;
