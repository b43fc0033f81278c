//! Normalisations over the last dimension, written out.

use super::pattern::{Fused, Match, vector};
use super::{FusionRule, Rewrite, Skip};
use crate::ir::{Attr, Dim, Graph, Node, NodeId, ValueId};

pub const LAYER: FusionRule = FusionRule {
    name: "LayerNorm",
    pattern: "d / Sqrt(ReduceMean(d^2) + epsilon) * gamma + beta, d = x - ReduceMean(x) -> LayerNormalization",
    fuse: fuse_layer,
};

pub const ROOT_MEAN_SQUARE: FusionRule = FusionRule {
    name: "RmsNorm",
    pattern: "x / Sqrt(ReduceMean(x^2) + epsilon) * gamma -> SimplifiedLayerNormalization",
    fuse: fuse_root_mean_square,
};

fn fuse_layer<'w>(graph: &mut Graph<'w>, id: NodeId) -> Result<Rewrite<'w>, Skip> {
    let output = graph.node(id).and_then(|node| node.output(0)).ok_or(Skip::NoMatch)?;
    let mut m = Match::new(graph);
    let matched = m.take_commutative(Some(output), "Add", |m, scaled, beta| {
        vector(m.graph(), beta)?;
        let (gamma, deviation, epsilon) = scaled_by_gamma(m, scaled)?;
        let sub = m.take(Some(deviation), "Sub")?;
        let mean = mean(m, sub.input(1)?)?;
        let (x, averaged) = (m.skip_float_casts(sub.input(0)?), m.skip_float_casts(mean));
        (x == averaged).then_some((x, gamma, beta, epsilon))
    });
    let (x, gamma, beta, epsilon) = matched.ok_or(Skip::NoMatch)?;
    check(graph, [x, gamma, beta, output])?;
    m.rewrite(Fused {
        domain: "",
        op_type: "LayerNormalization",
        version: 17,
        inputs: vec![Some(x), Some(gamma), Some(beta)],
        outputs: vec![Some(output)],
        attrs: vec![("axis", Attr::Int(-1)), ("epsilon", Attr::Float(epsilon))],
    })
}

fn fuse_root_mean_square<'w>(graph: &mut Graph<'w>, id: NodeId) -> Result<Rewrite<'w>, Skip> {
    let output = graph.node(id).and_then(|node| node.output(0)).ok_or(Skip::NoMatch)?;
    let mut m = Match::new(graph);
    let (gamma, x, epsilon) = scaled_by_gamma(&mut m, output).ok_or(Skip::NoMatch)?;
    check(graph, [x, gamma, gamma, output])?;
    m.rewrite(Fused {
        domain: "",
        op_type: "SimplifiedLayerNormalization",
        version: 1,
        inputs: vec![Some(x), Some(gamma)],
        outputs: vec![Some(output)],
        attrs: vec![("axis", Attr::Int(-1)), ("epsilon", Attr::Float(epsilon))],
    })
}

/// (gamma, x, epsilon) of `value = gamma * x / sqrt(mean(x^2) + epsilon)`. The casts of a model in f16, which makes the
/// mean in f32, belong to it: the fused operators compute in f32 and round once.
fn scaled_by_gamma(m: &mut Match<'_, '_>, value: ValueId) -> Option<(ValueId, ValueId, f32)> {
    m.take_commutative(Some(value), "Mul", |m, normed, gamma| {
        vector(m.graph(), gamma)?;
        let normed = m.skip_float_casts(normed);
        let (x, root) = over_root(m, normed)?;
        let sqrt = m.take(Some(root), "Sqrt")?;
        let (mean_square, epsilon) = m.with_scalar(sqrt.input(0), "Add")?;
        let square = mean(m, mean_square)?;
        let square = m.product(square);
        let [a, b] = square.factors[..] else { return None };
        let (base, x) = (m.skip_float_casts(a), m.skip_float_casts(x));
        (square.scale == 1.0 && a == b && base == x).then_some((gamma, x, epsilon as f32))
    })
}

/// (x, root) of `x / root`, also in the forms `x * (1 / root)` and `x * Reciprocal(root)`.
fn over_root(m: &mut Match<'_, '_>, value: ValueId) -> Option<(ValueId, ValueId)> {
    if let Some(div) = m.take(Some(value), "Div") {
        return Some((div.input(0)?, div.input(1)?));
    }
    m.take_commutative(Some(value), "Mul", |m, x, inverse| {
        let root = match m.take(Some(inverse), "Reciprocal") {
            Some(reciprocal) => reciprocal.input(0)?,
            None => {
                let div = m.take(Some(inverse), "Div")?;
                let root = div.input(1)?;
                (m.scalar(div.input(0)?, root)? == 1.0).then_some(root)?
            }
        };
        Some((x, root))
    })
}

/// `x` of `value = ReduceMean(x)` over the last dimension, which stays with size 1.
fn mean(m: &mut Match<'_, '_>, value: ValueId) -> Option<ValueId> {
    let graph = m.graph();
    let node = m.take(Some(value), "ReduceMean")?;
    let x = node.input(0)?;
    let keeps = !matches!(node.attrs.get("keepdims"), Some(Attr::Int(0)));
    let &[axis] = axes(graph, node)?.as_slice() else { return None };
    let last = graph.value(x).shape.as_ref().map(|shape| shape.len() as i64 - 1);
    (keeps && (axis == -1 || Some(axis) == last)).then_some(x)
}

/// Axes of a reduction: an attribute, from version 18 on an input.
fn axes(graph: &Graph<'_>, node: &Node<'_>) -> Option<Vec<i64>> {
    match (node.attrs.get("axes"), node.input(1)) {
        (Some(Attr::Ints(axes)), None) => Some(axes.clone()),
        (None, Some(axes)) => graph.value(axes).constant.as_ref()?.to_i64s(),
        _ => None,
    }
}

/// Checks that all have one type, and that gamma and beta are as long as the last dimension of x, which is taken for
/// granted where that is unknown.
fn check(graph: &Graph<'_>, [x, gamma, beta, output]: [ValueId; 4]) -> Result<(), Skip> {
    let dtype = |value| graph.value(value).dtype;
    if [gamma, beta, output].iter().any(|&value| dtype(value) != dtype(x)) {
        return Err(Skip::Condition("input, gamma, beta and output have different types".into()));
    }
    let length = vector(graph, gamma);
    let last = graph.value(x).shape.as_ref().and_then(|shape| shape.last());
    if vector(graph, beta) != length || matches!(last, Some(Dim::Known(size)) if Some(*size) != length) {
        return Err(Skip::Condition("gamma and beta are not as long as the last dimension".into()));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
