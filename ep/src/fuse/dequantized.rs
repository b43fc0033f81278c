//! Products with constants that are dequantised first.

use kernels::tensor::DType;

use super::pattern::{Fused, Match, vector};
use super::transpose::perm;
use super::{FusionRule, Rewrite, Skip};
use crate::ir::{Attr, Graph, Node, NodeId, ValueId};
use crate::ops::FUSED;

pub const DEQUANTIZED: FusionRule = FusionRule {
    name: "DequantizedLinear",
    pattern: "MatMul|Gemm(x, DequantizeLinear(constants)) -> DequantizedLinear; the weight may be transposed on the way",
    fuse,
};

fn fuse<'w>(graph: &mut Graph<'w>, id: NodeId) -> Result<Rewrite<'w>, Skip> {
    let product = graph.node(id).filter(|node| node.is("", "MatMul") || node.is("", "Gemm")).ok_or(Skip::NoMatch)?;
    let mut m = Match::new(graph);
    m.take_node(id);
    let (dequantize, swapped) = weight(&mut m, product.input(1)).ok_or(Skip::NoMatch)?;
    let is_constant = |value: ValueId| graph.value(value).constant.is_some();
    let is_weight = |value: ValueId| {
        let tensor = graph.value(value).constant.as_ref();
        tensor.is_some_and(|tensor| matches!(tensor.dtype, DType::I4 | DType::U4 | DType::I8 | DType::U8))
    };
    let constants = (0..3).filter_map(|index| dequantize.input(index)).all(is_constant);
    if !constants || !dequantize.input(0).is_some_and(is_weight) || dequantize.attrs.get("output_dtype").is_some() {
        return Err(Skip::Condition("the weight is not a constant of 4 or 8 bits".into()));
    }
    let transposed = swapped != matches!(product.attrs.get("transB"), Some(Attr::Int(1)));
    let columns = dequantize.input(0).and_then(|weight| columns(graph, weight, transposed));
    if !is_plain(product) || product.input(2).is_some_and(|bias| vector(graph, bias) != columns) {
        return Err(Skip::Condition("the product is scaled, transposed, or adds no constant vector".into()));
    }
    let attr = |name: &'static str| Some((name, dequantize.attrs.get(name)?.clone()));
    let mut attrs: Vec<_> = ["axis", "block_size"].into_iter().filter_map(attr).collect();
    attrs.push(("transB", Attr::Int(transposed.into())));
    let mut inputs = vec![product.input(0), dequantize.input(0), dequantize.input(1), dequantize.input(2)];
    inputs.extend(product.input(2).map(Some));
    let outputs = vec![product.output(0)];
    m.rewrite(Fused { domain: FUSED, op_type: "DequantizedLinear", version: 1, inputs, outputs, attrs })
}

/// The dequantisation that makes `value`, and whether its result is transposed.
fn weight<'g, 'w>(m: &mut Match<'g, 'w>, value: Option<ValueId>) -> Option<(&'g Node<'w>, bool)> {
    let swaps = |node: &Node<'_>| node.attrs.get("perm").is_none() || perm(node).is_some_and(|perm| perm == [1, 0]);
    let transpose = m.take_if(value, |node| node.is("", "Transpose") && swaps(node));
    let value = transpose.map_or(value, |node| node.input(0));
    Some((m.take(value, "DequantizeLinear")?, transpose.is_some()))
}

/// Columns of a constant matrix as the product sees it.
fn columns(graph: &Graph<'_>, value: ValueId, transposed: bool) -> Option<usize> {
    let [rows, columns] = graph.value(value).constant.as_ref()?.dims[..] else { return None };
    Some(if transposed { rows } else { columns })
}

/// Whether a `Gemm` does no more than a product and a sum.
fn is_plain(product: &Node<'_>) -> bool {
    let is_one = |name| matches!(product.attrs.get(name), None | Some(Attr::Float(1.0)));
    is_one("alpha") && is_one("beta") && matches!(product.attrs.get("transA"), None | Some(Attr::Int(0)))
}

#[cfg(test)]
mod tests;
