//! ONNX Runtime's graph as the graph of `ep`.

use std::collections::HashMap;
use std::sync::Arc;

use ep::DType;
use ep::ir::{self, Attr, Dim, GraphBuilder, NodeSpec, ValueId};

use crate::EP_NAME;
use crate::handle::{Attribute, AttributeValue, Graph, Node, Tensor, TensorType, ValueInfo};
use crate::status::Error;

/// A graph of `ep`, and the host's node for each `origin` in it.
pub(crate) struct Imported<'a> {
    pub(crate) graph: ir::Graph<'a>,
    pub(crate) nodes: Vec<Node<'a>>,
}

/// Reads a whole graph. Constants are borrowed from the host, so the result lives no longer than its graph.
pub(crate) fn import(graph: Graph<'_>) -> Result<Imported<'_>, Error> {
    let nodes = graph.nodes()?;
    let mut importer = Importer { builder: GraphBuilder::new(graph.name()?), values: HashMap::new() };
    for value in graph.inputs()? {
        importer.value(value)?;
    }
    for (origin, &node) in nodes.iter().enumerate() {
        let spec = importer.node(node, origin)?;
        if node.provider()?.is_empty() {
            importer.builder.node(spec);
        } else {
            importer.builder.taken_node(spec);
        }
    }
    for value in graph.outputs()? {
        let id = importer.value(value)?;
        importer.builder.output(id);
    }
    Ok(Imported { graph: importer.builder.finish()?, nodes })
}

struct Importer<'a> {
    builder: GraphBuilder<'a>,
    values: HashMap<&'a str, ValueId>,
}

impl<'a> Importer<'a> {
    /// The value's id. A value met before any node produces it is a constant or comes from outside.
    fn value(&mut self, value: ValueInfo<'a>) -> Result<ValueId, Error> {
        let name = value.name()?;
        if let Some(&id) = self.values.get(name) {
            return Ok(id);
        }
        let id = self.declare(name, value)?;
        match value.constant()? {
            // A constant of a type that `ep` does not know stays an input of unknown type.
            Some(tensor) => match import_tensor(tensor)? {
                Some(tensor) => self.builder.constant(id, tensor),
                None => self.builder.input(id),
            },
            None => self.builder.input(id),
        }
        Ok(id)
    }

    /// The id of a value that a node produces.
    fn declare(&mut self, name: &'a str, value: ValueInfo<'a>) -> Result<ValueId, Error> {
        let (dtype, shape) = match value.tensor_type()? {
            Some(TensorType { element, dims }) => (dtype(element), dims),
            None => (None, None),
        };
        let dim = |dim| match dim {
            Ok(size) => Dim::Known(size),
            Err("") => Dim::Unknown,
            Err(symbol) => Dim::Symbol(Arc::from(symbol)),
        };
        let shape = shape.map(|dims| dims.into_iter().map(dim).collect());
        let id = self.builder.value(name, dtype, shape);
        self.values.insert(name, id);
        Ok(id)
    }

    fn node(&mut self, node: Node<'a>, origin: usize) -> Result<NodeSpec<'a>, Error> {
        let mut inputs = Vec::new();
        for input in node.inputs()? {
            inputs.push(input.map(|value| self.value(value)).transpose()?);
        }
        // What the bodies of a control flow node read is used outside of any group, as its own inputs are.
        for value in node.implicit_inputs()? {
            inputs.push(Some(self.value(value)?));
        }
        let mut outputs = Vec::new();
        for output in node.outputs()? {
            let id = output.map(|value| self.declare(value.name()?, value)).transpose()?;
            outputs.push(id);
        }
        let attrs = node.attributes()?.into_iter().map(import_attribute);
        // A node that another provider took belongs to that provider's domain: nothing here knows its operator.
        let domain = match node.provider()? {
            "" | EP_NAME => node.domain()?,
            other => other,
        };
        Ok(NodeSpec {
            name: node.name()?.to_owned(),
            domain: domain.to_owned(),
            op_type: node.op_type()?.to_owned(),
            since_version: node.since_version()?,
            inputs,
            outputs,
            attrs: attrs.collect::<Result<_, Error>>()?,
            origin,
        })
    }
}

fn import_attribute<'a>(attribute: Attribute<'_>) -> Result<(String, Attr<'a>), Error> {
    let value = match attribute.value() {
        AttributeValue::Int(value) => Attr::Int(value),
        AttributeValue::Float(value) => Attr::Float(value),
        AttributeValue::String(value) => Attr::Str(value),
        AttributeValue::Ints(values) => Attr::Ints(values),
        AttributeValue::Floats(values) => Attr::Floats(values),
        AttributeValue::Strings(values) => Attr::Strs(values),
        AttributeValue::Tensor(tensor) => match import_tensor(tensor.get())? {
            Some(borrowed) => Attr::Tensor(borrowed.into_owned()),
            None => Attr::Other,
        },
        AttributeValue::Graph => Attr::Graph,
        AttributeValue::Other => Attr::Other,
    };
    Ok((attribute.name()?.to_owned(), value))
}

/// `None` if `ep` does not know the element type.
fn import_tensor(tensor: Tensor<'_>) -> Result<Option<ir::Tensor<'_>>, Error> {
    let mut dims = Vec::new();
    let Some(dtype) = dtype(tensor.element_and_dims(|dim| dims.push(dim))?) else {
        return Ok(None);
    };
    Ok(Some(ir::Tensor::borrowed(dtype, &dims, tensor.bytes()?)))
}

/// `None` for element types that no operator here takes.
pub(crate) fn dtype(element: i32) -> Option<DType> {
    use ort_sys::ONNXTensorElementDataType as Onnx;
    const TYPES: [(Onnx, DType); 15] = [
        (Onnx::ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, DType::F32),
        (Onnx::ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16, DType::F16),
        (Onnx::ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16, DType::BF16),
        (Onnx::ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE, DType::F64),
        (Onnx::ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8, DType::I8),
        (Onnx::ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8, DType::U8),
        (Onnx::ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16, DType::I16),
        (Onnx::ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16, DType::U16),
        (Onnx::ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32, DType::I32),
        (Onnx::ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32, DType::U32),
        (Onnx::ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, DType::I64),
        (Onnx::ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64, DType::U64),
        (Onnx::ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL, DType::Bool),
        (Onnx::ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4, DType::I4),
        (Onnx::ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT4, DType::U4),
    ];
    TYPES.iter().find(|(onnx, _)| *onnx as i32 == element).map(|&(_, dtype)| dtype)
}
