//! ONNX Runtime's graph as the graph of `ep`.

use std::collections::HashMap;
use std::sync::Arc;

use ep::DType;
use ep::ir::{self, Attr, Dim, GraphBuilder, NodeSpec, ValueId};
use ep::ops::OpRow;

use crate::EP_NAME;
use crate::handle::{AttributeValue, Graph, KernelInfo, Node, Tensor, TensorType, ValueInfo};
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

/// A node that a kernel is made for, as a graph of its own.
pub(crate) struct ImportedNode<'a> {
    pub(crate) graph: ir::Graph<'a>,
    /// By position, as [`Runner::new`](crate::compute::Runner::new) takes them.
    pub(crate) inputs: Vec<Option<String>>,
    pub(crate) outputs: Vec<Option<String>>,
    /// Positions of the constant inputs.
    pub(crate) constants: Vec<usize>,
}

/// Reads a node of the operator of `row`. Constants are borrowed from the host.
pub(crate) fn import_node<'a>(info: KernelInfo<'a>, row: &OpRow) -> Result<ImportedNode<'a>, Error> {
    let (name, inputs, outputs) = (info.node_name()?, info.inputs()?, info.outputs()?);
    let mut builder = GraphBuilder::new(&name);
    let (mut input_ids, mut output_ids, mut constants) = (Vec::new(), Vec::new(), Vec::new());
    for (index, name) in inputs.iter().enumerate() {
        let Some(name) = name else {
            input_ids.push(None);
            continue;
        };
        let (dtype, shape) = tensor_type(info.input_type(index)?.get()?);
        let id = builder.value(name, dtype, shape);
        match info.constant(index)?.map(import_tensor).transpose()?.flatten() {
            Some(tensor) => {
                builder.constant(id, tensor);
                constants.push(index);
            }
            None if input_ids.contains(&Some(id)) => {}
            None => builder.input(id),
        }
        input_ids.push(Some(id));
    }
    for (index, name) in outputs.iter().enumerate() {
        let Some(name) = name else {
            output_ids.push(None);
            continue;
        };
        let (dtype, shape) = tensor_type(info.output_type(index)?.get()?);
        let id = builder.value(name, dtype, shape);
        builder.output(id);
        output_ids.push(Some(id));
    }
    let mut attrs = Vec::new();
    for name in row.attrs {
        if let Some(value) = info.attribute(name)? {
            attrs.push(((*name).to_owned(), import_value(value)?));
        }
    }
    builder.node(NodeSpec {
        name,
        domain: row.domain.to_owned(),
        op_type: row.name.to_owned(),
        since_version: info.since_version()?,
        inputs: input_ids,
        outputs: output_ids,
        attrs,
        origin: 0,
    });
    Ok(ImportedNode { graph: builder.finish()?, inputs, outputs, constants })
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
        if value.is_outer()? {
            self.builder.outer(id);
        }
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
        let (dtype, shape) = tensor_type(value.tensor_type()?);
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
        let attrs =
            node.attributes()?.into_iter().map(|attr| Ok((attr.name()?.to_owned(), import_value(attr.value())?)));
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

/// Type and shape as far as `ep` knows them.
fn tensor_type(tensor_type: Option<TensorType<'_>>) -> (Option<DType>, Option<Vec<Dim>>) {
    let Some(TensorType { element, dims }) = tensor_type else { return (None, None) };
    let dim = |dim| match dim {
        Ok(size) => Dim::Known(size),
        Err("") => Dim::Unknown,
        Err(symbol) => Dim::Symbol(Arc::from(symbol)),
    };
    (dtype(element), dims.map(|dims| dims.into_iter().map(dim).collect()))
}

fn import_value<'a>(value: AttributeValue) -> Result<Attr<'a>, Error> {
    Ok(match value {
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
    })
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
