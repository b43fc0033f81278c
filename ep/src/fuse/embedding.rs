//! Rows of a table that are scaled, as Gemma and other encoders and decoders scale their embeddings.

use super::pattern::{Fused, Match};
use super::{FusionRule, Rewrite, Skip};
use crate::ir::{Attr, Graph, NodeId};
use crate::ops::FUSED;

pub const SCALED: FusionRule = FusionRule {
    name: "ScaledEmbedding",
    pattern: "Gather(constant table, ids) * scale -> Embedding(table, ids)",
    fuse,
};

fn fuse<'w>(graph: &mut Graph<'w>, id: NodeId) -> Result<Rewrite<'w>, Skip> {
    let output = graph.node(id).and_then(|node| node.output(0));
    let mut m = Match::new(graph);
    let (rows, scale) = m.with_scalar(output, "Mul").ok_or(Skip::NoMatch)?;
    let gather = m.take(Some(rows), "Gather").ok_or(Skip::NoMatch)?;
    let (table, ids) = gather.input(0).zip(gather.input(1)).ok_or(Skip::NoMatch)?;
    if !matches!(gather.attrs.get("axis"), None | Some(Attr::Int(0))) {
        return Err(Skip::NoMatch);
    }
    m.rewrite(Fused {
        domain: FUSED,
        op_type: "Embedding",
        version: 1,
        inputs: vec![Some(table), Some(ids)],
        outputs: vec![output],
        attrs: vec![("scale", Attr::Float(scale as f32))],
    })
}

#[cfg(test)]
mod tests;
