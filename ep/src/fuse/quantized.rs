//! Products of dynamically quantised activations with constant int8 weights.

use kernels::tensor::DType;

use super::pattern::{Fused, Match};
use super::{FusionRule, Rewrite, Skip};
use crate::ir::{Graph, NodeId, ValueId};
use crate::ops::FUSED;

pub const QUANTIZED: FusionRule = FusionRule {
    name: "QLinear",
    pattern: "Cast(MatMulInteger(x, constant matrix)) * (x_scale * constant scale) -> QLinear",
    fuse,
};

fn fuse<'w>(graph: &mut Graph<'w>, id: NodeId) -> Result<Rewrite<'w>, Skip> {
    let output = graph.node(id).and_then(|node| node.output(0));
    let mut m = Match::new(graph);
    let matched = m.take_commutative(output, "Mul", |m, product, scales| {
        let graph = m.graph();
        let cast = m.take(Some(product), "Cast")?;
        let product = m.take(cast.input(0), "MatMulInteger")?;
        let (a_scale, b_scale) = m.take_commutative(Some(scales), "Mul", |_, a, b| {
            let fits = is_scalar(graph, a) && graph.value(a).constant.is_none() && graph.value(b).constant.is_some();
            fits.then_some((a, b))
        })?;
        let is_constant = |value: Option<ValueId>| value.is_none_or(|value| graph.value(value).constant.is_some());
        let fits = is_f32(graph, cast.output(0)?)
            && graph.value(product.input(1)?).constant.as_ref()?.dims.len() == 2
            && is_constant(product.input(3))
            && product.input(2).is_none_or(|zero_point| is_scalar(graph, zero_point));
        fits.then_some((product, a_scale, b_scale))
    });
    let (product, a_scale, b_scale) = matched.ok_or(Skip::NoMatch)?;
    let inputs = [product.input(0), Some(a_scale), product.input(2), product.input(1), Some(b_scale), product.input(3)];
    m.rewrite(Fused {
        domain: FUSED,
        op_type: "QLinear",
        version: 1,
        inputs: inputs.to_vec(),
        outputs: vec![output],
        attrs: vec![],
    })
}

fn is_f32(graph: &Graph<'_>, value: ValueId) -> bool {
    graph.value(value).dtype == Some(DType::F32)
}

/// Whether a value has rank 0, as the scale and the zero point of DynamicQuantizeLinear, of which onnxruntime 1.23 does not
/// tell the rank.
fn is_scalar(graph: &Graph<'_>, value: ValueId) -> bool {
    match &graph.value(value).shape {
        Some(dims) => dims.is_empty(),
        None => graph.producer(value).is_some_and(|(_, node)| node.is("", "DynamicQuantizeLinear")),
    }
}

#[cfg(test)]
mod tests;
