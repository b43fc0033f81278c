//! Products with constant weights, and what follows them, as one `Linear` or `QLinear`.

use super::pattern::{Fused, Match};
use super::{FusionRule, Rewrite, Skip};
use crate::ir::{Attr, Dim, Graph, Node, NodeId, ValueId};
use crate::ops::{FUSED, MICROSOFT};

pub const MATMUL: FusionRule =
    FusionRule { name: "LinearMatMul", pattern: "MatMul(x, constant matrix) -> Linear", fuse: fuse_matmul };

pub const GEMM: FusionRule = FusionRule {
    name: "LinearGemm",
    pattern: "alpha * Gemm(x, constant matrix, constant vector) -> Linear",
    fuse: fuse_gemm,
};

pub const BIAS: FusionRule =
    FusionRule { name: "LinearBias", pattern: "Linear + constant vector -> Linear; also of QLinear", fuse: fuse_bias };

pub const RESHAPE: FusionRule = FusionRule {
    name: "LinearReshape",
    pattern: "Reshape(Linear(Reshape(x, [-1, k])), [.., n]) -> Linear, when the outer dimensions of x come back",
    fuse: fuse_reshape,
};

pub const ACTIVATION: FusionRule = FusionRule {
    name: "LinearActivation",
    pattern: "Relu|Gelu|FastGelu|QuickGelu|Sigmoid|Tanh|BiasGelu(Linear) -> Linear; also of QLinear",
    fuse: fuse_activation,
};

pub const RESIDUAL: FusionRule =
    FusionRule { name: "LinearResidual", pattern: "Linear + y -> Linear; also of QLinear", fuse: fuse_residual };

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
fn activation(node: &Node<'_>) -> Option<(&'static str, Option<f32>)> {
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

/// A `Linear` or `QLinear` that a rule extends.
struct Layer<'g, 'w> {
    node: &'g Node<'w>,
    quantized: bool,
}

impl<'g, 'w> Layer<'g, 'w> {
    /// Takes the linear layer that makes `value`.
    fn take(m: &mut Match<'g, 'w>, value: ValueId) -> Option<Self> {
        let node = m.take_if(Some(value), |node| node.is(FUSED, "Linear") || node.is(FUSED, "QLinear"))?;
        Some(Self { node, quantized: node.op_type == "QLinear" })
    }

    fn weights(&self) -> usize {
        if self.quantized { 3 } else { 1 }
    }

    fn bias(&self) -> usize {
        if self.quantized { 6 } else { 2 }
    }

    fn residual(&self) -> usize {
        self.bias() + 1
    }

    fn has(&self, input: usize) -> bool {
        self.node.input(input).is_some()
    }

    /// Whether nothing follows the product yet.
    fn is_bare(&self) -> bool {
        !self.has(self.bias()) && !self.has(self.residual()) && self.node.attrs.get("activation").is_none()
    }

    /// Number of columns of the output.
    fn columns(&self, graph: &Graph<'_>) -> Option<usize> {
        let [rows, columns] = matrix(graph, self.node.input(self.weights()))?;
        let transposed = matches!(self.node.attrs.get("transB"), Some(Attr::Int(1)));
        Some(if transposed { rows } else { columns })
    }

    /// The layer with another output.
    fn with_output(&self, output: Option<ValueId>) -> Fused<'w> {
        const ATTRS: [&str; 4] = ["alpha", "transB", "activation", "activation_alpha"];
        let attr = |name: &'static str| Some((name, self.node.attrs.get(name)?.clone()));
        Fused {
            domain: FUSED,
            op_type: if self.quantized { "QLinear" } else { "Linear" },
            version: 1,
            inputs: self.node.inputs.clone(),
            outputs: vec![output],
            attrs: ATTRS.into_iter().filter_map(attr).collect(),
        }
    }

    /// The layer with one more input and another output.
    fn with_input(&self, index: usize, value: ValueId, output: Option<ValueId>) -> Fused<'w> {
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

/// The length of a constant of rank 1.
fn vector(graph: &Graph<'_>, value: ValueId) -> Option<usize> {
    match graph.value(value).constant.as_ref()?.dims[..] {
        [length] => Some(length),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
