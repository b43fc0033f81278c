use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::sync::Arc;

use kernels::tensor::{DType, Dims};

use super::{Attrs, Tensor};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub(super) usize);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub(super) usize);

impl ValueId {
    pub fn index(self) -> usize {
        self.0
    }
}

impl NodeId {
    pub fn index(self) -> usize {
        self.0
    }
}

/// A dimension as far as the graph tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dim {
    Known(usize),
    Symbol(Arc<str>),
    Unknown,
}

/// An edge of the graph.
#[derive(Clone, Debug)]
pub struct Value<'w> {
    pub name: String,
    /// `None` when the type is unknown or none that the provider has.
    pub dtype: Option<DType>,
    /// `None` when even the rank is unknown.
    pub shape: Option<Vec<Dim>>,
    /// Contents, for initializers that nobody can override.
    pub constant: Option<Tensor<'w>>,
    /// Belongs to the graph around this one, a body of a control-flow node.
    pub outer: bool,
}

impl Value<'_> {
    /// The shape, when every dimension is known.
    pub fn static_dims(&self) -> Option<Dims> {
        let known = |dim: &Dim| if let Dim::Known(size) = dim { Some(*size) } else { None };
        self.shape.as_ref()?.iter().map(known).collect()
    }
}

/// A node, of the model or made by a fusion.
#[derive(Clone, Debug)]
pub struct Node<'w> {
    pub name: String,
    pub domain: String,
    pub op_type: String,
    /// Version of the operator set that last changed the operator.
    pub version: i32,
    /// `None` where an optional input is left out.
    pub inputs: Vec<Option<ValueId>>,
    pub outputs: Vec<Option<ValueId>>,
    pub attrs: Attrs<'w>,
    /// The nodes of the model that this one stands for, by the caller's index.
    pub origins: Vec<usize>,
}

impl Node<'_> {
    pub fn is(&self, domain: &str, op_type: &str) -> bool {
        self.op_type == op_type && self.domain == domain
    }

    /// Input `index`, when it is there.
    pub fn input(&self, index: usize) -> Option<ValueId> {
        self.inputs.get(index).copied().flatten()
    }

    pub fn output(&self, index: usize) -> Option<ValueId> {
        self.outputs.get(index).copied().flatten()
    }

    /// `Type`, or `domain.Type` outside the default domain.
    pub fn qualified_op(&self) -> String {
        match self.domain.as_str() {
            "" => self.op_type.clone(),
            domain => format!("{domain}.{}", self.op_type),
        }
    }
}

/// A graph in static single assignment form.
#[derive(Clone, Debug)]
pub struct Graph<'w> {
    pub name: String,
    pub(super) values: Vec<Value<'w>>,
    /// `None` where a fusion took a node away.
    pub(super) nodes: Vec<Option<Node<'w>>>,
    pub(super) taken: HashSet<NodeId>,
    /// Topological order of the nodes that are there.
    pub(super) order: Vec<NodeId>,
    pub(super) producers: Vec<Option<NodeId>>,
    pub(super) consumers: Vec<Vec<NodeId>>,
    pub(super) inputs: Vec<ValueId>,
    pub(super) outputs: Vec<ValueId>,
}

impl<'w> Graph<'w> {
    pub fn inputs(&self) -> &[ValueId] {
        &self.inputs
    }

    pub fn outputs(&self) -> &[ValueId] {
        &self.outputs
    }

    pub fn value(&self, id: ValueId) -> &Value<'w> {
        &self.values[id.0]
    }

    /// Number of value slots; every [`ValueId`] is below it.
    pub fn value_count(&self) -> usize {
        self.values.len()
    }

    /// Makes what is constant in the graph around this one a value that is read at run time.
    pub fn forget_outer_constants(&mut self) {
        self.values.iter_mut().filter(|value| value.outer).for_each(|value| value.constant = None);
    }

    /// Makes those constants inputs whose names are given: their contents come with each run.
    pub fn lend<'n>(&mut self, names: impl IntoIterator<Item = &'n str>) {
        for name in names {
            if let Some(at) = self.values.iter().position(|value| value.name == name && value.constant.is_some()) {
                self.values[at].constant = None;
                self.inputs.push(ValueId(at));
            }
        }
    }

    /// The node, unless a fusion took it away.
    pub fn node(&self, id: NodeId) -> Option<&Node<'w>> {
        self.nodes[id.0].as_ref()
    }

    /// Whether a provider runs the node already.
    pub fn is_taken(&self, id: NodeId) -> bool {
        self.taken.contains(&id)
    }

    /// Nodes in topological order.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, &Node<'w>)> {
        self.order.iter().filter_map(|&id| Some((id, self.node(id)?)))
    }

    /// The node that makes `value`; `None` for inputs and constants.
    pub fn producer(&self, value: ValueId) -> Option<(NodeId, &Node<'w>)> {
        let id = self.producers[value.0]?;
        Some((id, self.node(id)?))
    }

    /// Nodes that read `value`, once for each reading input.
    pub fn consumers(&self, value: ValueId) -> &[NodeId] {
        &self.consumers[value.0]
    }

    pub fn is_output(&self, value: ValueId) -> bool {
        self.outputs.contains(&value)
    }

    /// The only node that reads `value`, once, and no output of the graph does.
    pub fn only_consumer(&self, value: ValueId) -> Option<(NodeId, &Node<'w>)> {
        match self.consumers(value) {
            [id] if !self.is_output(value) => Some((*id, self.node(*id)?)),
            _ => None,
        }
    }

    /// Takes `remove` away and puts `add` in their place. Call [`Graph::sort`] when all rewrites are done.
    pub fn replace(&mut self, remove: &[NodeId], add: Vec<Node<'w>>) -> Vec<NodeId> {
        for &id in remove {
            if let Some(node) = self.nodes[id.0].take() {
                node.outputs.iter().flatten().for_each(|output| self.producers[output.0] = None);
                node.inputs.iter().flatten().for_each(|input| self.consumers[input.0].retain(|&reader| reader != id));
            }
        }
        // The new nodes stand where the last removed one stood, so that readers still come later.
        let at = self.order.iter().rposition(|id| remove.contains(id)).map_or(self.order.len(), |at| at + 1);
        let ids: Vec<NodeId> = add.into_iter().map(|node| self.insert(node)).collect();
        self.order.splice(at..at, ids.iter().copied());
        self.order.retain(|id| self.nodes[id.0].is_some());
        ids
    }

    fn insert(&mut self, node: Node<'w>) -> NodeId {
        let id = NodeId(self.nodes.len());
        node.outputs.iter().flatten().for_each(|output| self.producers[output.0] = Some(id));
        node.inputs.iter().flatten().for_each(|input| self.consumers[input.0].push(id));
        self.nodes.push(Some(node));
        id
    }

    /// Restores topological order, staying as close to the present order as possible; `false` when the nodes form
    /// a cycle.
    #[must_use]
    pub fn sort(&mut self) -> bool {
        let mut missing = vec![0usize; self.nodes.len()];
        let mut position = vec![0usize; self.nodes.len()];
        for (place, &id) in self.order.iter().enumerate() {
            position[id.0] = place;
        }
        for (id, node) in self.nodes() {
            missing[id.0] = node.inputs.iter().flatten().filter(|input| self.producers[input.0].is_some()).count();
        }
        let key = |id: NodeId| Reverse((position[id.0], id));
        let mut ready: BinaryHeap<_> =
            self.nodes().filter(|(id, _)| missing[id.0] == 0).map(|(id, _)| key(id)).collect();
        let mut order = Vec::with_capacity(self.order.len());
        while let Some(Reverse((_, id))) = ready.pop() {
            order.push(id);
            let outputs = self.node(id).into_iter().flat_map(|node| node.outputs.iter().flatten());
            for reader in outputs.flat_map(|output| &self.consumers[output.0]) {
                missing[reader.0] -= 1;
                if missing[reader.0] == 0 {
                    ready.push(key(*reader));
                }
            }
        }
        let complete = order.len() == self.nodes().count();
        self.order = order;
        complete
    }
}
