//! Products with weights of few bits as linear layers.

use super::pattern::{Fused, Match};
use super::{FusionRule, Rewrite, Skip};
use crate::ir::{Attr, Graph, NodeId};
use crate::ops::{FUSED, MICROSOFT};

pub const NBITS: FusionRule =
    FusionRule { name: "NBitsLinear", pattern: "MatMulNBits(x, constants) -> NBitsLinear", fuse };

fn fuse<'w>(graph: &mut Graph<'w>, id: NodeId) -> Result<Rewrite<'w>, Skip> {
    let node = graph.node(id).filter(|node| node.is(MICROSOFT, "MatMulNBits")).ok_or(Skip::NoMatch)?;
    let packed = !matches!(node.attrs.get("weight_prepacked"), None | Some(Attr::Int(0)));
    if node.input(4).is_some() || packed {
        return Err(Skip::Condition("the rows of the weight are not in the usual order".into()));
    }
    let mut inputs: Vec<_> = (0..4).map(|index| node.input(index)).collect();
    inputs.extend(node.input(5).map(Some));
    const ATTRS: [&str; 5] = ["K", "N", "bits", "block_size", "accuracy_level"];
    let attrs = ATTRS.into_iter().filter_map(|name| Some((name, node.attrs.get(name)?.clone()))).collect();
    let mut m = Match::new(graph);
    m.take_node(id);
    m.rewrite(Fused { domain: FUSED, op_type: "NBitsLinear", version: 1, inputs, outputs: vec![node.output(0)], attrs })
}

#[cfg(test)]
mod tests;
