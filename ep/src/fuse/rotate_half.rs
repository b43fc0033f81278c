//! Rotary embedding, written out.

use super::pattern::{Fused, Match};
use super::{FusionRule, Rewrite, Skip};
use crate::ir::{Attr, Dim, Graph, Node, NodeId, ValueId};
use crate::ops::FUSED;

pub const ROTATE_HALF: FusionRule = FusionRule {
    name: "RotateHalf",
    pattern: "x * cos + Concat(Neg(Slice(x, second half)), Slice(x, first half)) * sin -> RotateHalf(x, cos, sin)",
    fuse,
};

fn fuse<'w>(graph: &mut Graph<'w>, id: NodeId) -> Result<Rewrite<'w>, Skip> {
    let output = graph.node(id).and_then(|node| node.output(0));
    let mut m = Match::new(graph);
    let matched = m.take_commutative(output, "Add", |m, straight, turned| {
        let (x, half, sin) = m.take_commutative(Some(turned), "Mul", |m, halves, sin| {
            let (x, half) = swapped_halves(m, halves)?;
            Some((x, half, sin))
        })?;
        let cos = m.take_commutative(Some(straight), "Mul", |_, base, cos| (base == x).then_some(cos))?;
        Some((x, half, cos, sin))
    });
    let (x, half, cos, sin) = matched.ok_or(Skip::NoMatch)?;
    if [x, cos, sin].iter().any(|&value| last_dim(graph, value) != Some(2 * half)) {
        return Err(Skip::Condition("the operands have not visibly the width of both halves".into()));
    }
    m.rewrite(Fused {
        domain: FUSED,
        op_type: "RotateHalf",
        version: 1,
        inputs: vec![Some(x), Some(cos), Some(sin)],
        outputs: vec![output],
        attrs: vec![],
    })
}

/// (x, length of a half) of `Concat(Neg(second half of x), first half of x)` along the last axis.
fn swapped_halves(m: &mut Match<'_, '_>, value: ValueId) -> Option<(ValueId, usize)> {
    let concat = m.take(Some(value), "Concat").filter(|concat| concat.inputs.len() == 2)?;
    let negated = m.take(concat.input(0), "Neg")?;
    let second = m.take(negated.input(0), "Slice")?;
    let first = m.take(concat.input(1), "Slice")?;
    let x = first.input(0).filter(|&x| second.input(0) == Some(x))?;
    let rank = m.graph().value(x).shape.as_ref()?.len() as i64;
    let last = |axis: i64| axis == -1 || axis == rank - 1;
    if !matches!(concat.attrs.get("axis"), Some(&Attr::Int(axis)) if last(axis)) {
        return None;
    }
    let (start, half) = range(m.graph(), first, last)?;
    let (middle, end) = range(m.graph(), second, last)?;
    let half = usize::try_from(half).ok().filter(|&half| half > 0)?;
    (start == 0 && middle == half as i64 && end >= 2 * half as i64).then_some((x, half))
}

/// Start and end of a `Slice` of the last axis by steps of one.
fn range(graph: &Graph<'_>, slice: &Node<'_>, last: impl Fn(i64) -> bool) -> Option<(i64, i64)> {
    let one = |index: usize| {
        let values = graph.value(slice.input(index)?).constant.as_ref()?.to_i64s()?;
        <[i64; 1]>::try_from(values).ok().map(|[value]| value)
    };
    let step = slice.input(4).is_none() || one(4)? == 1;
    (last(one(3)?) && step).then_some((one(1)?, one(2)?))
}

fn last_dim(graph: &Graph<'_>, value: ValueId) -> Option<usize> {
    match graph.value(value).shape.as_ref()?.last()? {
        Dim::Known(dim) => Some(*dim),
        Dim::Symbol(_) | Dim::Unknown => None,
    }
}

#[cfg(test)]
mod tests;
