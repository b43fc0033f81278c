//! A transposition of the last two dimensions that goes by way of three dimensions, as exporters write it.

use super::pattern::{DEPTH, Fused, Match};
use super::{FusionRule, Rewrite, Skip};
use crate::ir::{Attr, Graph, Node, NodeId, ValueId};

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

/// An element of a shape: a number, or the size of a dimension of a certain tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Size {
    Known(i64),
    Of(usize),
}

/// The elements of the shape or index `value` in terms of the dimensions of `x`, which has `rank` of them. `None`
/// when it depends on anything else or is more than `depth` operators away.
fn sizes(graph: &Graph<'_>, value: ValueId, x: ValueId, rank: usize, depth: usize) -> Option<Vec<Size>> {
    if let Some(tensor) = &graph.value(value).constant {
        return Some(tensor.to_i64s()?.into_iter().map(Size::Known).collect());
    }
    let (_, node) = graph.producer(value)?;
    let depth = depth.checked_sub(1)?;
    let operand = |index| sizes(graph, node.input(index)?, x, rank, depth);
    let constant = |index| graph.value(node.input(index)?).constant.as_ref()?.to_i64s();
    let int = |name, default| match node.attrs.get(name) {
        None => Some(default),
        Some(Attr::Int(value)) => Some(*value),
        Some(_) => None,
    };
    if !node.domain.is_empty() {
        return None;
    }
    match node.op_type.as_str() {
        "Shape" if node.input(0) == Some(x) => {
            let all: Vec<Size> = (0..rank).map(Size::Of).collect();
            slice(&all, int("start", 0)?, int("end", i64::MAX)?)
        }
        "Gather" if int("axis", 0)? == 0 => {
            let from = operand(0)?;
            constant(1)?.into_iter().map(|index| from.get(from_end(index, from.len())?).copied()).collect()
        }
        "Slice" if node.input(2).is_some() => {
            let one = |index| <[i64; 1]>::try_from(constant(index)?).ok();
            let axis = node.input(3).is_none() || one(3)? == [0];
            let step = node.input(4).is_none() || one(4)? == [1];
            (axis && step).then(|| slice(&operand(0)?, one(1)?[0], one(2)?[0]))?
        }
        "Concat" => {
            let parts: Option<Vec<_>> = (0..node.inputs.len()).map(operand).collect();
            Some(parts?.concat())
        }
        "Unsqueeze" | "Squeeze" => operand(0).filter(|sizes| sizes.len() == 1),
        _ => None,
    }
}

/// `values[start..end]` with the ends of `Slice`: from the back when negative, clamped.
fn slice(values: &[Size], start: i64, end: i64) -> Option<Vec<Size>> {
    let len = values.len() as i64;
    let clamp = |at: i64| if at < 0 { at.saturating_add(len).max(0) } else { at.min(len) } as usize;
    Some(values.get(clamp(start)..clamp(end)).unwrap_or(&[]).to_vec())
}

fn from_end(index: i64, len: usize) -> Option<usize> {
    usize::try_from(if index < 0 { index + len as i64 } else { index }).ok()
}

#[cfg(test)]
pub(super) mod tests;
