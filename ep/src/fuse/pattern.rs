//! Walking a graph from a result to its operands, and collecting the nodes of a match on the way.

use kernels::tensor::DType;

use crate::fuse::{Rewrite, Skip};
use crate::ir::{Attr, Attrs, Graph, Node, NodeId, ValueId};

/// A match under construction: the nodes taken so far.
pub(super) struct Match<'g, 'w> {
    graph: &'g Graph<'w>,
    taken: Vec<NodeId>,
}

/// The node that a match turns into.
pub(super) struct Fused<'w> {
    pub domain: &'static str,
    pub op_type: &'static str,
    pub version: i32,
    pub inputs: Vec<Option<ValueId>>,
    pub outputs: Vec<Option<ValueId>>,
    pub attrs: Vec<(&'static str, Attr<'w>)>,
}

/// How far a pattern looks back: more than any formula needs, and no burden on a model that is one long chain.
pub(super) const DEPTH: usize = 16;

/// A product written out: `scale` times all `factors`.
#[derive(Debug, PartialEq)]
pub(super) struct Product {
    pub scale: f64,
    pub factors: Vec<ValueId>,
}

impl<'g, 'w> Match<'g, 'w> {
    pub fn new(graph: &'g Graph<'w>) -> Self {
        Self { graph, taken: Vec::new() }
    }

    pub fn graph(&self) -> &'g Graph<'w> {
        self.graph
    }

    /// Takes the node that makes `value`, which must be the operator `op` of the default domain.
    pub fn take(&mut self, value: Option<ValueId>, op: &str) -> Option<&'g Node<'w>> {
        self.take_if(value, |node| node.is("", op))
    }

    /// Takes the node that makes `value` when `accept` says so.
    pub fn take_if(&mut self, value: Option<ValueId>, accept: impl FnOnce(&Node<'w>) -> bool) -> Option<&'g Node<'w>> {
        let (id, node) = self.graph.producer(value?)?;
        accept(node).then(|| {
            self.take_node(id);
            node
        })
    }

    pub fn take_node(&mut self, id: NodeId) {
        if !self.taken.contains(&id) {
            self.taken.push(id);
        }
    }

    /// Tries `find`; the nodes that a failing try took are given back.
    pub fn attempt<T>(&mut self, find: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let taken = self.taken.len();
        let found = find(self);
        if found.is_none() {
            self.taken.truncate(taken);
        }
        found
    }

    /// Tries both orders of the operands of the two-input operator `op` that makes `value`.
    pub fn take_commutative<T>(
        &mut self,
        value: Option<ValueId>,
        op: &str,
        mut find: impl FnMut(&mut Self, ValueId, ValueId) -> Option<T>,
    ) -> Option<T> {
        self.attempt(|m| {
            let node = m.take(value, op)?;
            let (a, b) = (node.input(0)?, node.input(1)?);
            m.attempt(|m| find(m, a, b)).or_else(|| m.attempt(|m| find(m, b, a)))
        })
    }

    /// Takes the casts between f32 and f16 that make `value`, and gives what they read.
    pub fn skip_float_casts(&mut self, mut value: ValueId) -> ValueId {
        let is_float = |value| matches!(self.graph.value(value).dtype, Some(DType::F32 | DType::F16));
        let mut casts = Vec::new();
        while let Some((id, node)) = self.graph.producer(value) {
            match node.input(0) {
                Some(input) if node.is("", "Cast") && is_float(value) && is_float(input) => {
                    casts.push(id);
                    value = input;
                }
                _ => break,
            }
        }
        casts.into_iter().for_each(|id| self.take_node(id));
        value
    }

    /// The constant scalar `value`, when using it beside `other` leaves the rank of `other` as it is.
    pub fn scalar(&self, value: ValueId, other: ValueId) -> Option<f64> {
        let tensor = self.graph.value(value).constant.as_ref()?;
        let rank = self.graph.value(other).shape.as_ref().map_or(0, Vec::len);
        (tensor.dims.len() <= rank).then(|| tensor.scalar_f32().map(f64::from)).flatten()
    }

    /// The other operand of a two-input operator one of whose operands is a constant scalar.
    pub fn with_scalar(&mut self, value: Option<ValueId>, op: &str) -> Option<(ValueId, f64)> {
        self.take_commutative(value, op, |m, a, b| Some((a, m.scalar(b, a)?)))
    }

    /// Writes the product that makes `value` out, taking its nodes: `Mul`, `Div` by a constant, `Pow` with a small
    /// whole exponent. Factors that others read too are not looked into, nor more than [`DEPTH`] operators deep.
    pub fn product(&mut self, value: ValueId) -> Product {
        let mut product = Product { scale: 1.0, factors: Vec::new() };
        self.multiply(value, &mut product, DEPTH);
        product
    }

    fn multiply(&mut self, value: ValueId, product: &mut Product, depth: usize) {
        let Some((id, node)) = self.graph.producer(value) else {
            return product.factors.push(value);
        };
        let (Some(a), Some(b)) = (node.input(0), node.input(1)) else {
            return product.factors.push(value);
        };
        let scalar = self.scalar(b, a);
        match (node.op_type.as_str(), scalar) {
            _ if !node.domain.is_empty() => return product.factors.push(value),
            ("Mul", None) if self.scalar(a, b).is_none() => {
                self.factor(a, product, depth);
                self.factor(b, product, depth);
            }
            ("Mul", None) => {
                product.scale *= self.scalar(a, b).unwrap_or(1.0);
                self.factor(b, product, depth);
            }
            ("Mul", Some(scalar)) => {
                product.scale *= scalar;
                self.factor(a, product, depth);
            }
            ("Div", Some(scalar)) => {
                product.scale /= scalar;
                self.factor(a, product, depth);
            }
            ("Pow", Some(2.0)) => product.factors.extend([a; 2]),
            ("Pow", Some(3.0)) => product.factors.extend([a; 3]),
            _ => return product.factors.push(value),
        }
        self.take_node(id);
    }

    fn factor(&mut self, value: ValueId, product: &mut Product, depth: usize) {
        match self.graph.only_consumer(value) {
            Some(_) if depth > 0 => self.multiply(value, product, depth - 1),
            _ => product.factors.push(value),
        }
    }

    /// Takes what makes `values`, back to constants and `known`: arithmetic on shapes, mostly, that nobody needs when
    /// the match is gone. `false` when something else reads a part of it, or it begins elsewhere.
    pub fn absorb(&mut self, values: &[ValueId], known: ValueId) -> bool {
        let mut open = values.to_vec();
        loop {
            open.retain(|&value| value != known && self.graph.value(value).constant.is_none());
            let inside = open.iter().enumerate().find_map(|(at, &value)| {
                let (id, node) = self.graph.producer(value)?;
                self.is_inside(node).then_some((at, id, node))
            });
            let Some((at, id, node)) = inside else { return open.is_empty() };
            open.swap_remove(at);
            if !self.taken.contains(&id) {
                self.taken.push(id);
                open.extend(node.inputs.iter().flatten());
            }
        }
    }

    /// Whether only taken nodes read the results of `node`.
    fn is_inside(&self, node: &Node<'_>) -> bool {
        node.outputs.iter().flatten().all(|&output| {
            let readers = self.graph.consumers(output);
            readers.iter().all(|reader| self.taken.contains(reader)) && !self.graph.is_output(output)
        })
    }

    /// Puts `fused` in the place of the taken nodes. It gets the name of the node that makes its first output.
    ///
    /// # Errors
    /// [`Skip::Condition`] when something outside the match reads a value that would vanish.
    pub fn rewrite(self, fused: Fused<'w>) -> Result<Rewrite<'w>, Skip> {
        let stays =
            |node: &Node<'_>| node.outputs.iter().flatten().all(|&output| fused.outputs.contains(&Some(output)));
        let mut origins = Vec::new();
        for node in self.taken.iter().filter_map(|&id| self.graph.node(id)) {
            if !stays(node) && !self.is_inside(node) {
                let reason = format!("the result of '{}' is read elsewhere too", node.name);
                return Err(Skip::Condition(reason));
            }
            origins.extend(&node.origins);
        }
        origins.sort_unstable();
        let first = fused.outputs.iter().flatten().next().and_then(|&output| self.graph.producer(output));
        let node = Node {
            name: first.map_or_else(String::new, |(_, node)| node.name.clone()),
            domain: fused.domain.to_owned(),
            op_type: fused.op_type.to_owned(),
            version: fused.version,
            inputs: fused.inputs,
            outputs: fused.outputs,
            attrs: Attrs::new(fused.attrs.into_iter().map(|(name, attr)| (name.to_owned(), attr)).collect()),
            origins,
        };
        Ok(Rewrite { remove: self.taken, add: vec![node] })
    }
}

/// The length of a constant of rank 1.
pub(super) fn vector(graph: &Graph<'_>, value: ValueId) -> Option<usize> {
    match graph.value(value).constant.as_ref()?.dims[..] {
        [length] => Some(length),
        _ => None,
    }
}

/// Whether a constant that exporters round has this value: to six digits, which is as exact as f32 arithmetic, or to
/// three where the model is in f16.
pub(super) fn close(value: f64, expected: f64, half: bool) -> bool {
    let tolerance = if half { 1e-3 } else { 1e-6 };
    (value - expected).abs() <= tolerance * expected.abs()
}
