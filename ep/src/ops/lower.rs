use std::sync::Arc;

use kernels::isa::Target;
use kernels::tensor::{DType, Dims};

use super::decline::{Code, Decline};
use crate::Accuracy;
use crate::ir::{Attr, Dim, Graph, Node, Tensor, Value};
use crate::plan::WeightStore;

/// Whether lowering packs weights.
#[derive(Clone, Copy)]
pub enum Packing<'a> {
    /// Claims and snapshots: layouts are chosen, nothing is packed.
    Plan,
    /// Compile: weights are packed once a process and kept in the store.
    Pack(&'a WeightStore),
}

/// What lowering a node may look at.
pub struct Lower<'a, 'w> {
    graph: &'a Graph<'w>,
    node: &'a Node<'w>,
    target: &'a Target,
    accuracy: Accuracy,
    packing: Packing<'a>,
}

impl<'a, 'w> Lower<'a, 'w> {
    pub fn new(
        graph: &'a Graph<'w>,
        node: &'a Node<'w>,
        target: &'a Target,
        accuracy: Accuracy,
        packing: Packing<'a>,
    ) -> Self {
        Self { graph, node, target, accuracy, packing }
    }

    pub fn node(&self) -> &'a Node<'w> {
        self.node
    }

    pub fn target(&self) -> &'a Target {
        self.target
    }

    /// To what operands may be rounded.
    pub fn accuracy(&self) -> Accuracy {
        self.accuracy
    }

    pub fn packing(&self) -> Packing<'a> {
        self.packing
    }

    pub fn version(&self) -> i32 {
        self.node.version
    }

    pub fn has_input(&self, index: usize) -> bool {
        self.node.input(index).is_some()
    }

    pub fn has_output(&self, index: usize) -> bool {
        self.node.output(index).is_some()
    }

    /// Number of inputs, those left out at the end included.
    pub fn inputs(&self) -> usize {
        self.node.inputs.len()
    }

    pub fn outputs(&self) -> usize {
        self.node.outputs.len()
    }

    pub fn input_value(&self, index: usize) -> Result<&'a Value<'w>, Decline> {
        match self.node.input(index) {
            Some(id) => Ok(self.graph.value(id)),
            None => Err(Decline::new(Code::Input, format!("input {index} is missing"))),
        }
    }

    /// Type of input `index`.
    ///
    /// # Errors
    /// Declines when the input is missing, its type unknown, or its elements share bytes, which only operators that
    /// read it as a constant know.
    pub fn dtype(&self, index: usize) -> Result<DType, Decline> {
        self.input_value(index)?
            .dtype
            .filter(|dtype| !dtype.is_nibble())
            .ok_or_else(|| Decline::new(Code::DType, format!("the type of input {index} is unknown or not supported")))
    }

    /// Type of input `index`, which must be one of `allowed`.
    pub fn dtype_in(&self, index: usize, allowed: &[DType]) -> Result<DType, Decline> {
        let dtype = self.dtype(index)?;
        match allowed.contains(&dtype) {
            true => Ok(dtype),
            false => Err(Decline::new(Code::DType, format!("input {index} of type {dtype} is not supported"))),
        }
    }

    /// Type of input `index`: f32, or f16, which is computed in f32.
    pub fn float_input(&self, index: usize) -> Result<DType, Decline> {
        self.dtype_in(index, &[DType::F32, DType::F16])
    }

    /// Type that the graph gives output `index`, when it is there and known.
    pub fn output_dtype(&self, index: usize) -> Option<DType> {
        self.graph.value(self.node.output(index)?).dtype
    }

    /// Shape of input `index` as far as known.
    pub fn shape(&self, index: usize) -> Option<&'a [Dim]> {
        self.graph.value(self.node.input(index)?).shape.as_deref()
    }

    pub fn rank(&self, index: usize) -> Option<usize> {
        self.shape(index).map(<[Dim]>::len)
    }

    /// Shape of input `index` when every dimension is known.
    pub fn static_dims(&self, index: usize) -> Option<Dims> {
        self.graph.value(self.node.input(index)?).static_dims()
    }

    /// Contents of input `index` when it is a constant.
    pub fn constant(&self, index: usize) -> Option<&'a Tensor<'w>> {
        self.graph.value(self.node.input(index)?).constant.as_ref()
    }

    fn wrong_kind(name: &str) -> Decline {
        Decline::new(Code::Attribute, format!("attribute '{name}' is not of the expected kind"))
    }

    pub fn attr_int(&self, name: &str, default: i64) -> Result<i64, Decline> {
        match self.node.attrs.get(name) {
            None => Ok(default),
            Some(Attr::Int(value)) => Ok(*value),
            Some(_) => Err(Self::wrong_kind(name)),
        }
    }

    /// An integer attribute that is a switch: 0 or 1.
    pub fn attr_bool(&self, name: &str, default: bool) -> Result<bool, Decline> {
        match self.attr_int(name, default.into())? {
            0 => Ok(false),
            1 => Ok(true),
            value => Err(Decline::new(Code::Attribute, format!("attribute '{name}' is {value}, not 0 or 1"))),
        }
    }

    pub fn attr_float(&self, name: &str, default: f32) -> Result<f32, Decline> {
        match self.node.attrs.get(name) {
            None => Ok(default),
            Some(Attr::Float(value)) => Ok(*value),
            Some(_) => Err(Self::wrong_kind(name)),
        }
    }

    pub fn attr_str(&self, name: &str, default: &'a str) -> Result<&'a str, Decline> {
        match self.node.attrs.get(name) {
            None => Ok(default),
            Some(Attr::Str(value)) => Ok(value),
            Some(_) => Err(Self::wrong_kind(name)),
        }
    }

    pub fn attr_ints(&self, name: &str) -> Result<Option<&'a [i64]>, Decline> {
        match self.node.attrs.get(name) {
            None => Ok(None),
            Some(Attr::Ints(values)) => Ok(Some(values)),
            Some(_) => Err(Self::wrong_kind(name)),
        }
    }

    /// Packs a weight once a process, or, when only planning, makes a stand-in with `plan`.
    ///
    /// `layout` tells apart different packings of the same bytes.
    pub fn packed<T: Send + Sync + 'static>(
        &self,
        tensors: &[&Tensor<'_>],
        layout: &str,
        plan: impl FnOnce() -> T,
        pack: impl FnOnce() -> T,
    ) -> Arc<T> {
        match self.packing {
            Packing::Plan => Arc::new(plan()),
            Packing::Pack(store) => store.get_or_make(tensors, layout, pack),
        }
    }
}
