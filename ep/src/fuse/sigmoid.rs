//! A value gated by its own sigmoid.

use super::pattern::{Fused, Match};
use super::{FusionRule, Rewrite, Skip};
use crate::ir::{Attr, Graph, NodeId};
use crate::ops::MICROSOFT;

pub const GATE: FusionRule =
    FusionRule { name: "QuickGelu", pattern: "x * Sigmoid(alpha * x) -> QuickGelu(alpha); alpha = 1 is SiLU", fuse };

fn fuse<'w>(graph: &mut Graph<'w>, id: NodeId) -> Result<Rewrite<'w>, Skip> {
    let output = graph.node(id).and_then(|node| node.output(0));
    let mut m = Match::new(graph);
    let matched = m.take_commutative(output, "Mul", |m, x, gate| {
        let sigmoid = m.take(Some(gate), "Sigmoid")?;
        let argument = sigmoid.input(0)?;
        if argument == x {
            return Some((x, 1.0));
        }
        let (base, alpha) = m.with_scalar(Some(argument), "Mul")?;
        (base == x).then_some((x, alpha))
    });
    let (x, alpha) = matched.ok_or(Skip::NoMatch)?;
    m.rewrite(Fused {
        domain: MICROSOFT,
        op_type: "QuickGelu",
        version: 1,
        inputs: vec![Some(x)],
        outputs: vec![output],
        attrs: vec![("alpha", Attr::Float(alpha as f32))],
    })
}

#[cfg(test)]
mod tests;
