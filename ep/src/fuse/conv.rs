//! What follows a convolution: activation and residual.

use super::epilogue::activation;
use super::pattern::{Fused, Match};
use super::{FusionRule, Rewrite, Skip};
use crate::ir::{Attr, Dim, Graph, Node, NodeId, ValueId};
use crate::ops::FUSED;

pub const ACTIVATION: FusionRule = FusionRule {
    name: "ConvActivation",
    pattern: "Relu|Clip|Gelu|FastGelu|QuickGelu|Sigmoid|Tanh(Conv) -> Conv",
    fuse: fuse_activation,
};

pub const RESIDUAL: FusionRule =
    FusionRule { name: "ConvResidual", pattern: "Conv + y of the same shape -> Conv", fuse: fuse_residual };

pub const RESIDUAL_ACTIVATION: FusionRule = FusionRule {
    name: "ConvResidualActivation",
    pattern: "Relu|Clip|Gelu|FastGelu|QuickGelu|Sigmoid|Tanh(Conv + y) -> Conv",
    fuse: fuse_activation,
};

const BIAS: usize = 2;
const RESIDUAL_INPUT: usize = 3;

fn fuse_activation<'w>(graph: &mut Graph<'w>, id: NodeId) -> Result<Rewrite<'w>, Skip> {
    let node = graph.node(id).ok_or(Skip::NoMatch)?;
    let attrs = activation_attrs(graph, node).ok_or(Skip::NoMatch)?;
    let mut m = Match::new(graph);
    m.take_node(id);
    let conv = take(&mut m, node.input(0)).ok_or(Skip::NoMatch)?;
    if conv.attrs.get("activation").is_some() {
        return Err(Skip::Condition("the convolution has an activation already".into()));
    }
    let mut fused = extend(conv, conv.input(RESIDUAL_INPUT), node.output(0));
    if conv.input(RESIDUAL_INPUT).is_some() {
        fused.attrs.push(("residual_first", Attr::Int(1)));
    }
    fused.attrs.extend(attrs);
    m.rewrite(fused)
}

/// The activation that `node` computes, in attributes of the fused convolution.
fn activation_attrs<'w>(graph: &Graph<'_>, node: &Node<'_>) -> Option<Vec<(&'static str, Attr<'w>)>> {
    if node.is("", "Clip") {
        let bound = |index: usize, name: &str, default: f32| match (node.input(index), node.attrs.get(name)) {
            (Some(value), _) => graph.value(value).constant.as_ref()?.scalar_f32(),
            (None, Some(Attr::Float(value))) => Some(*value),
            (None, _) => Some(default),
        };
        let (low, high) = (bound(1, "min", f32::NEG_INFINITY)?, bound(2, "max", f32::INFINITY)?);
        let bounds = [("activation_low", Attr::Float(low)), ("activation_high", Attr::Float(high))];
        return Some([("activation", Attr::Str("clip".into()))].into_iter().chain(bounds).collect());
    }
    let (name, alpha) = activation(node).filter(|_| node.input(1).is_none())?;
    let alpha = alpha.map(|alpha| ("activation_alpha", Attr::Float(alpha)));
    Some([("activation", Attr::Str(name.to_owned()))].into_iter().chain(alpha).collect())
}

fn fuse_residual<'w>(graph: &mut Graph<'w>, id: NodeId) -> Result<Rewrite<'w>, Skip> {
    let output = graph.node(id).and_then(|node| node.output(0));
    let mut m = Match::new(graph);
    let matched = m.take_commutative(output, "Add", |m, product, residual| {
        let conv = take(m, Some(product)).filter(|conv| conv.input(RESIDUAL_INPUT).is_none())?;
        // Where several readers keep the product, another operand may still do.
        m.graph().only_consumer(product)?;
        same_shape(m.graph(), product, residual).then_some((conv, residual))
    });
    let (conv, residual) = matched.ok_or(Skip::NoMatch)?;
    m.rewrite(extend(conv, Some(residual), output))
}

/// Whether both shapes are visibly the same.
fn same_shape(graph: &Graph<'_>, a: ValueId, b: ValueId) -> bool {
    let (Some(a), Some(b)) = (&graph.value(a).shape, &graph.value(b).shape) else { return false };
    a == b && !a.contains(&Dim::Unknown)
}

/// Takes the convolution that makes `value`, of the model or fused.
fn take<'g, 'w>(m: &mut Match<'g, 'w>, value: Option<ValueId>) -> Option<&'g Node<'w>> {
    m.take_if(value, |node| node.is("", "Conv") || node.is(FUSED, "Conv"))
}

/// The convolution with this residual and output.
fn extend<'w>(conv: &Node<'w>, residual: Option<ValueId>, output: Option<ValueId>) -> Fused<'w> {
    const ATTRS: [&str; 10] = [
        "activation",
        "activation_alpha",
        "activation_low",
        "activation_high",
        "auto_pad",
        "dilations",
        "group",
        "kernel_shape",
        "pads",
        "strides",
    ];
    let attr = |name: &'static str| Some((name, conv.attrs.get(name)?.clone()));
    Fused {
        domain: FUSED,
        op_type: "Conv",
        version: 1,
        inputs: vec![conv.input(0), conv.input(1), conv.input(BIAS), residual],
        outputs: vec![output],
        attrs: ATTRS.into_iter().filter_map(attr).collect(),
    }
}

#[cfg(test)]
mod tests;
