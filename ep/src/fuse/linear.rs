//! Products with constant weights as linear layers.

use super::pattern::{Fused, Match, vector};
use super::{FusionRule, Rewrite, Skip};
use crate::ir::{Attr, Dim, Graph, Node, NodeId, ValueId};
use crate::ops::FUSED;

pub const MATMUL: FusionRule =
    FusionRule { name: "LinearMatMul", pattern: "MatMul(x, constant matrix) -> Linear", fuse: fuse_matmul };

pub const GEMM: FusionRule = FusionRule {
    name: "LinearGemm",
    pattern: "alpha * Gemm(x, constant matrix, constant vector) -> Linear",
    fuse: fuse_gemm,
};

pub const RESHAPE: FusionRule = FusionRule {
    name: "LinearReshape",
    pattern: "Reshape(Linear(Reshape(x, [-1, k])), [.., n]) -> Linear, when the outer dimensions of x come back",
    fuse: fuse_reshape,
};

fn fuse_matmul<'w>(graph: &mut Graph<'w>, id: NodeId) -> Result<Rewrite<'w>, Skip> {
    let node = graph.node(id).filter(|node| node.is("", "MatMul")).ok_or(Skip::NoMatch)?;
    matrix(graph, node.input(1)).ok_or(Skip::NoMatch)?;
    let mut m = Match::new(graph);
    m.take_node(id);
    m.rewrite(linear(node.inputs.clone(), node, vec![]))
}

fn fuse_gemm<'w>(graph: &mut Graph<'w>, id: NodeId) -> Result<Rewrite<'w>, Skip> {
    let node = graph.node(id).filter(|node| node.is("", "Gemm")).ok_or(Skip::NoMatch)?;
    let [_, _] = matrix(graph, node.input(1)).ok_or(Skip::NoMatch)?;
    let int = |name| matches!(node.attrs.get(name), Some(Attr::Int(1)));
    let float = |name| if let Some(Attr::Float(value)) = node.attrs.get(name) { *value } else { 1.0 };
    if int("transA") {
        return Err(Skip::Condition("the left operand is transposed".into()));
    }
    let columns = matrix(graph, node.input(1)).map(|[k, n]| if int("transB") { k } else { n });
    if node.input(2).is_some_and(|bias| vector(graph, bias) != columns || float("beta") != 1.0) {
        return Err(Skip::Condition("the third operand is not a constant vector, taken once".into()));
    }
    let attrs = vec![("alpha", Attr::Float(float("alpha"))), ("transB", Attr::Int(int("transB").into()))];
    let mut m = Match::new(graph);
    m.take_node(id);
    m.rewrite(linear(node.inputs.clone(), node, attrs))
}

fn linear<'w>(inputs: Vec<Option<ValueId>>, node: &Node<'w>, attrs: Vec<(&'static str, Attr<'w>)>) -> Fused<'w> {
    Fused { domain: FUSED, op_type: "Linear", version: 1, inputs, outputs: vec![node.output(0)], attrs }
}

fn fuse_reshape<'w>(graph: &mut Graph<'w>, id: NodeId) -> Result<Rewrite<'w>, Skip> {
    let node = graph.node(id).filter(|node| node.is("", "Reshape")).ok_or(Skip::NoMatch)?;
    let output = node.output(0);
    let mut m = Match::new(graph);
    m.take_node(id);
    let layer = node.input(0).and_then(|input| Layer::take(&mut m, input)).ok_or(Skip::NoMatch)?;
    let flatten = m.take(layer.node.input(0), "Reshape").ok_or(Skip::NoMatch)?;
    let (x, shape) = flatten.input(0).zip(flatten.input(1)).ok_or(Skip::NoMatch)?;
    let target = |shape: Option<ValueId>| graph.value(shape?).constant.as_ref()?.to_i64s();
    let (flat, back) = target(Some(shape)).zip(target(node.input(1))).ok_or(Skip::NoMatch)?;
    let restored = graph.value(x).shape.as_ref().is_some_and(|dims| restores(dims, &flat, &back));
    if layer.has(layer.residual()) || !restored {
        return Err(Skip::Condition("the outer dimensions do not visibly come back".into()));
    }
    let mut fused = layer.with_output(output);
    fused.inputs[0] = Some(x);
    m.rewrite(fused)
}

/// Whether reshaping a tensor of shape `dims` to `flat`, changing the last dimension, and reshaping to `back` keeps
/// all dimensions but the last. At most one dimension may be unknown; it then stands as -1 in `back`.
fn restores(dims: &[Dim], flat: &[i64], back: &[i64]) -> bool {
    let (Some((last, outer)), &[_, k], Some((n, back))) = (dims.split_last(), flat, back.split_last()) else {
        return false;
    };
    let same = |(dim, &back): (&Dim, &i64)| matches!(dim, Dim::Known(size) if *size > 0 && *size as i64 == back);
    let inferred = back.iter().filter(|&&size| size == -1).count();
    matches!(last, Dim::Known(size) if *size > 0 && *size as i64 == k)
        && *n > 0
        && inferred <= 1
        && outer.len() == back.len()
        && outer.iter().zip(back).all(|(dim, back)| *back == -1 || same((dim, back)))
}

/// A linear layer that a rule extends.
pub(super) struct Layer<'g, 'w> {
    pub node: &'g Node<'w>,
    kind: &'static Kind,
}

/// A fused operator for linear layers.
struct Kind {
    op_type: &'static str,
    /// Input with the bias; the residual is the next one.
    bias: usize,
}

const KINDS: [Kind; 4] = [
    Kind { op_type: "Linear", bias: 2 },
    Kind { op_type: "QLinear", bias: 6 },
    Kind { op_type: "NBitsLinear", bias: 4 },
    Kind { op_type: "DequantizedLinear", bias: 4 },
];

impl<'g, 'w> Layer<'g, 'w> {
    /// Takes the linear layer that makes `value`.
    pub fn take(m: &mut Match<'g, 'w>, value: ValueId) -> Option<Self> {
        let kind_of = |node: &Node<'w>| KINDS.iter().find(|kind| node.is(FUSED, kind.op_type));
        let node = m.take_if(Some(value), |node| kind_of(node).is_some())?;
        Some(Self { node, kind: kind_of(node)? })
    }

    pub fn bias(&self) -> usize {
        self.kind.bias
    }

    pub fn residual(&self) -> usize {
        self.bias() + 1
    }

    pub fn has(&self, input: usize) -> bool {
        self.node.input(input).is_some()
    }

    /// Whether nothing follows the product yet.
    pub fn is_bare(&self) -> bool {
        !self.has(self.bias()) && !self.has(self.residual()) && self.node.attrs.get("activation").is_none()
    }

    /// Number of columns of the output.
    pub fn columns(&self, graph: &Graph<'_>) -> Option<usize> {
        if let Some(Attr::Int(columns)) = self.node.attrs.get("N") {
            return usize::try_from(*columns).ok();
        }
        let weights = if self.kind.op_type == "QLinear" { 3 } else { 1 };
        let [rows, columns] = matrix(graph, self.node.input(weights))?;
        let transposed = matches!(self.node.attrs.get("transB"), Some(Attr::Int(1)));
        Some(if transposed { rows } else { columns })
    }

    /// The layer with another output.
    pub fn with_output(&self, output: Option<ValueId>) -> Fused<'w> {
        const ATTRS: [&str; 10] = [
            "alpha",
            "transB",
            "activation",
            "activation_alpha",
            "K",
            "N",
            "bits",
            "block_size",
            "accuracy_level",
            "axis",
        ];
        let attr = |name: &'static str| Some((name, self.node.attrs.get(name)?.clone()));
        Fused {
            domain: FUSED,
            op_type: self.kind.op_type,
            version: 1,
            inputs: self.node.inputs.clone(),
            outputs: vec![output],
            attrs: ATTRS.into_iter().filter_map(attr).collect(),
        }
    }

    /// The layer with one more input and another output.
    pub fn with_input(&self, index: usize, value: ValueId, output: Option<ValueId>) -> Fused<'w> {
        let mut fused = self.with_output(output);
        fused.inputs.resize(fused.inputs.len().max(index + 1), None);
        fused.inputs[index] = Some(value);
        fused
    }
}

/// `[rows, columns]` of a constant matrix.
fn matrix(graph: &Graph<'_>, value: Option<ValueId>) -> Option<[usize; 2]> {
    graph.value(value?).constant.as_ref()?.dims[..].try_into().ok()
}

#[cfg(test)]
pub(super) mod tests;
