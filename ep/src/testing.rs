//! Small models for the tests of this crate.

use kernels::tensor::{DType, Dims, Element, TensorView, elements};

use crate::ir::{Attr, Dim, Graph, GraphBuilder, NodeSpec, Tensor, ValueId};
use crate::{Error, Options, Provider};

/// A tensor with its own values.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    pub dtype: DType,
    pub dims: Dims,
    words: Vec<u64>,
    len: usize,
}

impl Value {
    pub fn new<T: Element>(dims: &[usize], values: &[T]) -> Self {
        assert_eq!(elements(dims), values.len());
        let mut value = Self::zeroed(T::DTYPE, dims);
        value.bytes_mut().copy_from_slice(bytemuck::cast_slice(values));
        value
    }

    /// The same bytes as booleans.
    pub fn into_bool(mut self) -> Self {
        assert_eq!(self.dtype, DType::U8);
        self.dtype = DType::Bool;
        self
    }

    fn zeroed(dtype: DType, dims: &[usize]) -> Self {
        let len = elements(dims) * dtype.size();
        Self { dtype, dims: Dims::from_slice(dims), words: vec![0; len.div_ceil(8)], len }
    }

    pub fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.len]
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[..self.len]
    }

    pub fn values<T: Element>(&self) -> &[T] {
        assert!(self.dtype == T::DTYPE || (self.dtype == DType::Bool && T::DTYPE == DType::U8));
        bytemuck::cast_slice(self.bytes())
    }

    pub fn view(&self) -> TensorView<'_> {
        TensorView { dtype: self.dtype, dims: &self.dims, bytes: self.bytes() }
    }
}

#[derive(Clone)]
/// A model under construction; nodes are named after their first output.
pub struct Model {
    builder: GraphBuilder<'static>,
    outputs: Vec<ValueId>,
    nodes: usize,
    version: i32,
    domain: &'static str,
}

impl Model {
    /// A model whose nodes have the newest versions that all operators know.
    pub fn new() -> Self {
        Self { builder: GraphBuilder::new("test"), outputs: Vec::new(), nodes: 0, version: 21, domain: "" }
    }

    /// Version of the nodes added from now on.
    pub fn version(&mut self, version: i32) -> &mut Self {
        self.version = version;
        self
    }

    /// Domain of the nodes added from now on.
    pub fn domain(&mut self, domain: &'static str) -> &mut Self {
        self.domain = domain;
        self
    }

    pub fn input<T: Element>(&mut self, name: &str, dims: &[usize]) -> &mut Self {
        self.input_of(name, T::DTYPE, dims.iter().map(|&dim| Dim::Known(dim)).collect())
    }

    pub fn input_of(&mut self, name: &str, dtype: DType, shape: Vec<Dim>) -> &mut Self {
        let id = self.builder.value(name, Some(dtype), Some(shape));
        self.builder.input(id);
        self
    }

    pub fn constant<T: Element>(&mut self, name: &str, dims: &[usize], values: &[T]) -> &mut Self {
        let id = self.builder.value(name, None, None);
        self.builder.constant(id, Tensor::owned(dims, values));
        self
    }

    /// A constant by its bytes, for types that no Rust type stands for.
    pub fn nibbles(&mut self, name: &str, dtype: DType, dims: &[usize], bytes: &[u8]) -> &mut Self {
        let id = self.builder.value(name, None, None);
        self.builder.constant(id, Tensor::borrowed(dtype, dims, bytes).into_owned());
        self
    }

    /// Adds a node; an empty name leaves an input or output out. Outputs whose type was not declared with
    /// [`Model::typed`] get the type of the first input.
    pub fn node(
        &mut self,
        op: &str,
        inputs: &[&str],
        outputs: &[&str],
        attrs: Vec<(&str, Attr<'static>)>,
    ) -> &mut Self {
        let mut ids = |names: &[&str]| -> Vec<Option<ValueId>> {
            names.iter().map(|name| (!name.is_empty()).then(|| self.builder.value(name, None, None))).collect()
        };
        let (input_ids, output_ids) = (ids(inputs), ids(outputs));
        let dtype = input_ids.first().copied().flatten().and_then(|id| self.builder.dtype(id));
        outputs.iter().filter(|name| !name.is_empty()).for_each(|name| {
            self.builder.value(name, dtype, None);
        });
        self.builder.node(NodeSpec {
            name: outputs[0].into(),
            domain: self.domain.into(),
            op_type: op.into(),
            since_version: self.version,
            inputs: input_ids,
            outputs: output_ids,
            attrs: attrs.into_iter().map(|(name, attr)| (name.to_owned(), attr)).collect(),
            origin: self.nodes,
        });
        self.nodes += 1;
        self
    }

    /// Declares the type of an intermediate value before the node that makes it, as ONNX Runtime's inference would.
    pub fn typed(&mut self, name: &str, dtype: DType, shape: Vec<Dim>) -> &mut Self {
        self.builder.value(name, Some(dtype), Some(shape));
        self
    }

    /// [`Model::typed`] where the shape is not known.
    pub fn typed_only(&mut self, name: &str, dtype: DType) -> &mut Self {
        self.builder.value(name, Some(dtype), None);
        self
    }

    pub fn output(&mut self, name: &str) -> &mut Self {
        let id = self.builder.value(name, None, None);
        self.outputs.push(id);
        self
    }

    pub fn graph(&self) -> Graph<'static> {
        let mut builder = self.builder.clone();
        self.outputs.iter().for_each(|&id| builder.output(id));
        builder.finish().unwrap()
    }

    /// Claims everything, which must succeed, and runs it as one group.
    pub fn run(&self, inputs: &[Value]) -> Result<Vec<Value>, Error> {
        self.run_with(&[("threads", "2")], inputs)
    }

    /// The steps that one thread runs for these inputs.
    pub fn steps(&self, inputs: &[Value]) -> String {
        let provider = Provider::new(Options::parse([("threads", "1")]).unwrap()).unwrap();
        let views: Vec<TensorView<'_>> = inputs.iter().map(Value::view).collect();
        provider.compile(&self.graph()).unwrap().plan(&views).unwrap().to_string()
    }

    /// Like [`Model::run`], with these options.
    pub fn run_with(&self, options: &[(&str, &str)], inputs: &[Value]) -> Result<Vec<Value>, Error> {
        let options = Options::parse(options.iter().copied().chain([("claim", "all")]))?;
        let provider = Provider::new(options.clone())?;
        let graph = self.graph();
        let partition = crate::claim::partition(graph.clone(), provider.target(), &options);
        if let Some((id, decline)) = partition.declines.first() {
            let node = partition.graph.node(*id).unwrap();
            let (name, op) = (node.name.clone(), node.qualified_op());
            return Err(Error::Node { node: name, op, reason: format!("declined, {decline}") });
        }
        let group = provider.compile(&graph)?;
        let views: Vec<TensorView<'_>> = inputs.iter().map(Value::view).collect();
        let run = group.begin(&views)?;
        let count = group.output_names().len();
        let mut outputs: Vec<Value> =
            (0..count).map(|index| Value::zeroed(run.output_dtype(index), run.output_dims(index))).collect();
        run.execute(&views, &mut outputs.iter_mut().map(Value::bytes_mut).collect::<Vec<_>>())?;
        Ok(outputs)
    }
}
