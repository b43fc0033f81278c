//! Heads of keys and values repeated for grouped queries, which attention does not need.

use super::pattern::{DEPTH, Fused, Match};
use super::sizes::{Size, sizes};
use super::{FusionRule, Rewrite, Skip};
use crate::ir::{Attr, Dim, Graph, NodeId, ValueId};
use crate::ops::FUSED;

pub const REPEAT_KV: FusionRule = FusionRule {
    name: "RepeatKv",
    pattern: "Sdpa with k or v = Reshape(Expand(Unsqueeze(x, 2), [b, h, n, s, d]), [b, h * n, s, d]) -> Sdpa of x",
    fuse,
};

fn fuse<'w>(graph: &mut Graph<'w>, id: NodeId) -> Result<Rewrite<'w>, Skip> {
    let sdpa = graph.node(id).filter(|node| node.is(FUSED, "Sdpa")).ok_or(Skip::NoMatch)?.clone();
    let mut m = Match::new(graph);
    m.take_node(id);
    let mut inputs = sdpa.inputs.clone();
    let orders = ["k_order", "v_order"];
    for (index, order) in [1, 2].into_iter().zip(orders) {
        if !matches!(sdpa.attrs.get(order), Some(Attr::Str(order)) if order == "bnsh") {
            return Err(Skip::NoMatch);
        }
        let repeated = sdpa.input(index).ok_or(Skip::NoMatch)?;
        inputs[index] = Some(m.attempt(|m| unrepeated(m, repeated)).ok_or(Skip::NoMatch)?);
    }
    let mut rewrite = m.rewrite(Fused {
        domain: FUSED,
        op_type: "Sdpa",
        version: sdpa.version,
        inputs,
        outputs: sdpa.outputs.clone(),
        attrs: vec![],
    })?;
    rewrite.add.iter_mut().for_each(|node| node.attrs = sdpa.attrs.clone());
    Ok(rewrite)
}

/// `x`, `[batch, head, position, element]`, of which `value` repeats each head.
fn unrepeated(m: &mut Match<'_, '_>, value: ValueId) -> Option<ValueId> {
    let reshape = m.take(Some(value), "Reshape")?;
    let expand = m.take(reshape.input(0), "Expand")?;
    let unsqueeze = m.take(expand.input(0), "Unsqueeze")?;
    let graph = m.graph();
    let x = unsqueeze.input(0)?;
    let dims: &[Dim; 4] = graph.value(x).shape.as_deref()?.try_into().ok()?;
    let axis = graph.value(unsqueeze.input(1)?).constant.as_ref()?.to_i64s()?;
    let (heads, shapes) = (known(&dims[1])?, [expand.input(1)?, reshape.input(1)?]);
    let [expanded, reshaped] = shapes.map(|shape| sizes(graph, shape, x, 4, DEPTH));
    let (expanded, reshaped) = (<[Size; 5]>::try_from(expanded?).ok()?, <[Size; 4]>::try_from(reshaped?).ok()?);
    let Size::Known(repeats) = expanded[2] else { return None };
    // A length of 1 leaves a dimension as it is.
    let kept = [0, 1, 3, 4]
        .iter()
        .zip(0..4)
        .all(|(&at, axis)| expanded[at] == Size::Known(1) || is_dim(expanded[at], axis, dims));
    // One length may follow from the others.
    let merged = is_dim(reshaped[0], 0, dims) || reshaped[0] == Size::Known(-1);
    let merged = merged && (is_dim(reshaped[2], 2, dims) || reshaped[2] == Size::Known(-1));
    let merged = merged && is_dim(reshaped[3], 3, dims) && reshaped[1] == Size::Known(heads as i64 * repeats);
    let rule = matches!(axis[..], [2 | -3]) && repeats > 0 && kept && merged;
    // What only computes the shapes goes too.
    rule.then(|| m.attempt(|m| m.absorb(&shapes, x).then_some(())));
    rule.then_some(x)
}

fn known(dim: &Dim) -> Option<usize> {
    match dim {
        Dim::Known(dim) => Some(*dim),
        Dim::Symbol(_) | Dim::Unknown => None,
    }
}

/// Whether `size` is that of dimension `axis`.
fn is_dim(size: Size, axis: usize, dims: &[Dim; 4]) -> bool {
    size == Size::Of(axis) || known(&dims[axis]).is_some_and(|dim| size == Size::Known(dim as i64))
}

#[cfg(test)]
mod tests;
