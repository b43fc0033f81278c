//! A transposition of the last two dimensions that goes by way of three dimensions, as exporters write it.

use super::pattern::{DEPTH, Fused, Match};
use super::sizes::{Size, sizes};
use super::{FusionRule, Rewrite, Skip};
use crate::ir::{Attr, Graph, Node, NodeId};

pub const THROUGH_RESHAPE: FusionRule = FusionRule {
    name: "TransposeThroughReshape",
    pattern: "Reshape(Transpose(Reshape(Transpose(x, p), [-1, r, c]), 021), [.., c, r]) -> Transpose(x, p')",
    fuse,
};

fn fuse<'w>(graph: &mut Graph<'w>, id: NodeId) -> Result<Rewrite<'w>, Skip> {
    let restore = graph.node(id).filter(|node| node.is("", "Reshape")).ok_or(Skip::NoMatch)?;
    let mut m = Match::new(graph);
    m.take_node(id);
    let swap = m.take(restore.input(0), "Transpose").ok_or(Skip::NoMatch)?;
    let flatten = m.take(swap.input(0), "Reshape").ok_or(Skip::NoMatch)?;
    let first = m.take(flatten.input(0), "Transpose").ok_or(Skip::NoMatch)?;
    let (perm, swapped) = perm(first).zip(self::perm(swap)).ok_or(Skip::NoMatch)?;
    if swapped != [0, 2, 1] || perm.len() < 3 {
        return Err(Skip::NoMatch);
    }
    let x = first.input(0).ok_or(Skip::NoMatch)?;
    let shapes = flatten.input(1).zip(restore.input(1)).ok_or(Skip::NoMatch)?;
    let sizes = |shape| sizes(graph, shape, x, perm.len(), DEPTH);
    let (flat, back) = sizes(shapes.0).zip(sizes(shapes.1)).ok_or(Skip::NoMatch)?;
    // The dimensions of `x` in the order in which the first transposition puts them, the last two swapped.
    let mut order = perm.to_vec();
    let last = order.len() - 1;
    order.swap(last - 1, last);
    let expected: Vec<Size> = order.iter().map(|&axis| Size::Of(axis)).collect();
    let is_flat = flat == [Size::Known(-1), Size::Of(order[last]), Size::Of(order[last - 1])];
    if !is_flat || back != expected {
        return Err(Skip::Condition("the dimensions do not visibly come back".into()));
    }
    if !m.absorb(&[shapes.0, shapes.1], x) {
        return Err(Skip::Condition("the shapes are used elsewhere too".into()));
    }
    m.rewrite(Fused {
        domain: "",
        op_type: "Transpose",
        version: 13,
        inputs: vec![Some(x)],
        outputs: vec![restore.output(0)],
        attrs: vec![("perm", Attr::Ints(order.iter().map(|&axis| axis as i64).collect()))],
    })
}

/// The permutation of a `Transpose`, where it is written down and valid.
pub(super) fn perm(node: &Node<'_>) -> Option<Vec<usize>> {
    let Some(Attr::Ints(perm)) = node.attrs.get("perm") else { return None };
    let axes: Option<Vec<usize>> = perm.iter().map(|&axis| usize::try_from(axis).ok()).collect();
    axes.filter(|axes| (0..axes.len()).all(|axis| axes.contains(&axis)))
}

#[cfg(test)]
pub(super) mod tests;
