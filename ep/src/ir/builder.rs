use std::collections::{HashMap, HashSet};

use kernels::tensor::DType;

use super::{Attr, Attrs, Dim, Graph, Node, NodeId, Tensor, Value, ValueId};
use crate::Error;

/// A node as the caller describes it.
#[derive(Clone, Debug)]
pub struct NodeSpec<'w> {
    pub name: String,
    pub domain: String,
    pub op_type: String,
    /// Version of the operator set that last changed the operator.
    pub since_version: i32,
    pub inputs: Vec<Option<ValueId>>,
    pub outputs: Vec<Option<ValueId>>,
    pub attrs: Vec<(String, Attr<'w>)>,
    /// The caller's index of the node.
    pub origin: usize,
}

/// Collects values and nodes of a [`Graph`].
#[derive(Clone)]
pub struct GraphBuilder<'w> {
    name: String,
    values: Vec<Value<'w>>,
    by_name: HashMap<String, ValueId>,
    nodes: Vec<NodeSpec<'w>>,
    taken: HashSet<NodeId>,
    inputs: Vec<ValueId>,
    outputs: Vec<ValueId>,
}

impl<'w> GraphBuilder<'w> {
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            values: Vec::new(),
            by_name: HashMap::new(),
            nodes: Vec::new(),
            taken: HashSet::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
        }
    }

    /// The value called `name`, made on the first call. Type and shape are taken over where they were unknown.
    pub fn value(&mut self, name: &str, dtype: Option<DType>, shape: Option<Vec<Dim>>) -> ValueId {
        if let Some(&id) = self.by_name.get(name) {
            let value = &mut self.values[id.0];
            value.dtype = value.dtype.or(dtype);
            if value.shape.is_none() {
                value.shape = shape;
            }
            return id;
        }
        let id = ValueId(self.values.len());
        self.values.push(Value { name: name.to_owned(), dtype, shape, constant: None, outer: false });
        self.by_name.insert(name.to_owned(), id);
        id
    }

    /// Type of a value as far as known.
    pub fn dtype(&self, id: ValueId) -> Option<DType> {
        self.values[id.0].dtype
    }

    /// Gives `id` fixed contents.
    pub fn constant(&mut self, id: ValueId, tensor: Tensor<'w>) {
        let value = &mut self.values[id.0];
        value.dtype = Some(tensor.dtype);
        value.shape = Some(tensor.dims.iter().map(|&dim| Dim::Known(dim)).collect());
        value.constant = Some(tensor);
    }

    /// Marks `id` as a value of the graph around this one.
    pub fn outer(&mut self, id: ValueId) {
        self.values[id.0].outer = true;
    }

    pub fn input(&mut self, id: ValueId) {
        self.inputs.push(id);
    }

    pub fn output(&mut self, id: ValueId) {
        self.outputs.push(id);
    }

    pub fn node(&mut self, node: NodeSpec<'w>) {
        self.nodes.push(node);
    }

    /// Adds a node that a provider runs already, this one or another.
    pub fn taken_node(&mut self, node: NodeSpec<'w>) {
        self.taken.insert(NodeId(self.nodes.len()));
        self.node(node);
    }

    /// Checks and indexes the graph.
    ///
    /// # Errors
    /// [`Error::Graph`] when a value has two producers, a constant has the wrong size, or the nodes form a cycle.
    pub fn finish(self) -> Result<Graph<'w>, Error> {
        let mut producers = vec![None; self.values.len()];
        let mut consumers = vec![Vec::new(); self.values.len()];
        for (index, node) in self.nodes.iter().enumerate() {
            for output in node.outputs.iter().flatten() {
                if producers[output.0].replace(NodeId(index)).is_some() {
                    let name = &self.values[output.0].name;
                    return Err(Error::Graph(format!("value '{name}' has two producers")));
                }
            }
            node.inputs.iter().flatten().for_each(|input| consumers[input.0].push(NodeId(index)));
        }
        let broken = |value: &&Value<'_>| value.constant.as_ref().is_some_and(|tensor| !tensor.is_consistent());
        if let Some(value) = self.values.iter().find(broken) {
            return Err(Error::Graph(format!("constant '{}' has not the bytes its shape asks for", value.name)));
        }
        let mut graph = Graph {
            name: self.name,
            order: (0..self.nodes.len()).map(NodeId).collect(),
            nodes: self.nodes.into_iter().map(|node| Some(node.into())).collect(),
            taken: self.taken,
            values: self.values,
            producers,
            consumers,
            inputs: self.inputs,
            outputs: self.outputs,
        };
        if !graph.sort() {
            return Err(Error::Graph("the nodes form a cycle".into()));
        }
        Ok(graph)
    }
}

impl<'w> From<NodeSpec<'w>> for Node<'w> {
    fn from(spec: NodeSpec<'w>) -> Self {
        // "ai.onnx" is the long spelling of the default domain.
        let domain = if spec.domain == "ai.onnx" { String::new() } else { spec.domain };
        Self {
            name: spec.name,
            domain,
            op_type: spec.op_type,
            version: spec.since_version,
            inputs: spec.inputs,
            outputs: spec.outputs,
            attrs: Attrs::new(spec.attrs),
            origins: vec![spec.origin],
        }
    }
}
