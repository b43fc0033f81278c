//! What follows a linear layer: bias, activation, residual.

use super::linear::Layer;
use super::pattern::{Match, vector};
use super::{FusionRule, Rewrite, Skip};
use crate::ir::{Attr, Dim, Graph, Node, NodeId, ValueId};
use crate::ops::MICROSOFT;

pub const BIAS: FusionRule = FusionRule {
    name: "LinearBias",
    pattern: "Linear + constant vector -> Linear; also of QLinear, NBitsLinear, DequantizedLinear",
    fuse: fuse_bias,
};

pub const ACTIVATION: FusionRule = FusionRule {
    name: "LinearActivation",
    pattern: "Relu|Gelu|FastGelu|QuickGelu|Sigmoid|Tanh|BiasGelu(Linear) -> Linear; also of QLinear, NBitsLinear, DequantizedLinear",
    fuse: fuse_activation,
};

pub const RESIDUAL: FusionRule = FusionRule {
    name: "LinearResidual",
    pattern: "Linear + y -> Linear; also of QLinear, NBitsLinear, DequantizedLinear",
    fuse: fuse_residual,
};

fn fuse_bias<'w>(graph: &mut Graph<'w>, id: NodeId) -> Result<Rewrite<'w>, Skip> {
    let output = graph.node(id).and_then(|node| node.output(0));
    let mut m = Match::new(graph);
    let matched = m.take_commutative(output, "Add", |m, product, bias| {
        let layer = Layer::take(m, product)?;
        let fits = layer.is_bare() && Some(vector(m.graph(), bias)?) == layer.columns(m.graph());
        fits.then_some((layer, bias))
    });
    let (layer, bias) = matched.ok_or(Skip::NoMatch)?;
    m.rewrite(layer.with_input(layer.bias(), bias, output))
}

fn fuse_activation<'w>(graph: &mut Graph<'w>, id: NodeId) -> Result<Rewrite<'w>, Skip> {
    let node = graph.node(id).ok_or(Skip::NoMatch)?;
    let (name, alpha) = activation(node).ok_or(Skip::NoMatch)?;
    let mut m = Match::new(graph);
    m.take_node(id);
    let layer = node.input(0).and_then(|input| Layer::take(&mut m, input)).ok_or(Skip::NoMatch)?;
    if layer.has(layer.residual()) || layer.node.attrs.get("activation").is_some() {
        return Err(Skip::Condition("the linear layer has an activation or a residual already".into()));
    }
    let mut fused = match node.input(1) {
        None => layer.with_output(node.output(0)),
        Some(bias) if !layer.has(layer.bias()) && vector(graph, bias) == layer.columns(graph) => {
            layer.with_input(layer.bias(), bias, node.output(0))
        }
        Some(_) => return Err(Skip::Condition("the linear layer cannot take the bias of the activation".into())),
    };
    fused.attrs.push(("activation", Attr::Str(name.to_owned())));
    fused.attrs.extend(alpha.map(|alpha| ("activation_alpha", Attr::Float(alpha))));
    m.rewrite(fused)
}

/// Name of the activation that `node` computes, and its factor. A second input is a bias.
pub(super) fn activation(node: &Node<'_>) -> Option<(&'static str, Option<f32>)> {
    let is_tanh = matches!(node.attrs.get("approximate"), Some(Attr::Str(kind)) if kind == "tanh");
    match (node.domain.as_str(), node.op_type.as_str()) {
        ("", "Relu") => Some(("relu", None)),
        ("", "Sigmoid") => Some(("sigmoid", None)),
        ("", "Tanh") => Some(("tanh", None)),
        ("", "Gelu") => Some((if is_tanh { "gelu_tanh" } else { "gelu" }, None)),
        (MICROSOFT, "Gelu" | "BiasGelu") => Some(("gelu", None)),
        (MICROSOFT, "FastGelu") => Some(("gelu_tanh", None)),
        (MICROSOFT, "QuickGelu") => match node.attrs.get("alpha") {
            None => Some(("quick_gelu", None)),
            Some(Attr::Float(1.0)) => Some(("silu", None)),
            Some(Attr::Float(alpha)) => Some(("quick_gelu", Some(*alpha))),
            Some(_) => None,
        },
        _ => None,
    }
}

fn fuse_residual<'w>(graph: &mut Graph<'w>, id: NodeId) -> Result<Rewrite<'w>, Skip> {
    let output = graph.node(id).and_then(|node| node.output(0));
    let mut m = Match::new(graph);
    let matched = m.take_commutative(output, "Add", |m, product, residual| {
        let layer = Layer::take(m, product).filter(|layer| !layer.has(layer.residual()))?;
        // Where several readers keep the product, another operand may still do.
        m.graph().only_consumer(product)?;
        may_broadcast(m.graph(), residual, product).then_some((layer, residual))
    });
    let (layer, residual) = matched.ok_or(Skip::NoMatch)?;
    m.rewrite(layer.with_input(layer.residual(), residual, output))
}

/// Whether `from` has, as far as known, no dimension larger than `to`.
fn may_broadcast(graph: &Graph<'_>, from: ValueId, to: ValueId) -> bool {
    let (Some(from), Some(to)) = (&graph.value(from).shape, &graph.value(to).shape) else { return true };
    from.len() <= to.len()
        && from.iter().rev().zip(to.iter().rev()).all(|dims| match dims {
            (Dim::Known(from), Dim::Known(to)) => *from == 1 || from == to,
            (_, Dim::Known(to)) => *to != 1,
            _ => true,
        })
}

#[cfg(test)]
mod tests;
