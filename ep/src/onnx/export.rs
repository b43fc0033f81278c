use kernels::tensor::DType;

use super::*;
use crate::ir::{Attr, Dim, Graph, Node, Tensor, Value, ValueId};

/// `graph` as a model. Every operator of a domain gets the newest version that a node of that domain has.
pub fn model_of(graph: &Graph<'_>) -> ModelProto {
    let mut opset_import: Vec<OperatorSetIdProto> = Vec::new();
    for (_, node) in graph.nodes() {
        match opset_import.iter_mut().find(|opset| opset.domain == node.domain) {
            Some(opset) => opset.version = opset.version.max(node.version.into()),
            None => opset_import.push(OperatorSetIdProto { domain: node.domain.clone(), version: node.version.into() }),
        }
    }
    ModelProto { ir_version: 10, graph: Some(graph_proto(graph)), opset_import }
}

fn graph_proto(graph: &Graph<'_>) -> GraphProto {
    let infos = |ids: &[ValueId]| ids.iter().map(|&id| value_info(graph.value(id))).collect();
    let made: Vec<ValueId> = graph.nodes().flat_map(|(_, node)| node.outputs.iter().flatten().copied()).collect();
    let mut read: Vec<ValueId> = graph.nodes().flat_map(|(_, node)| node.inputs.iter().flatten().copied()).collect();
    read.sort_unstable();
    read.dedup();
    GraphProto {
        node: graph.nodes().map(|(_, node)| node_proto(graph, node)).collect(),
        name: graph.name.clone(),
        initializer: read
            .iter()
            .filter_map(|&id| Some(tensor_proto(&graph.value(id).name, graph.value(id).constant.as_ref()?)))
            .collect(),
        input: infos(graph.inputs()),
        output: infos(graph.outputs()),
        value_info: infos(&made),
    }
}

fn node_proto(graph: &Graph<'_>, node: &Node<'_>) -> NodeProto {
    let names = |ids: &[Option<ValueId>]| {
        ids.iter().map(|id| id.map_or(String::new(), |id| graph.value(id).name.clone())).collect()
    };
    NodeProto {
        input: names(&node.inputs),
        output: names(&node.outputs),
        name: node.name.clone(),
        op_type: node.op_type.clone(),
        domain: node.domain.clone(),
        attribute: node.attrs.iter().filter_map(|(name, attr)| attribute_proto(name, attr)).collect(),
        metadata_props: vec![StringStringEntryProto { key: "since_version".into(), value: node.version.to_string() }],
    }
}

fn attribute_proto(name: &str, attr: &Attr<'_>) -> Option<AttributeProto> {
    let mut proto = AttributeProto { name: name.to_owned(), ..AttributeProto::default() };
    let kind = match attr {
        Attr::Int(value) => {
            proto.i = Some(*value);
            AttributeType::Int
        }
        Attr::Float(value) => {
            proto.f = Some(*value);
            AttributeType::Float
        }
        Attr::Str(value) => {
            proto.s = Some(value.clone().into_bytes());
            AttributeType::String
        }
        Attr::Ints(values) => {
            proto.ints.clone_from(values);
            AttributeType::Ints
        }
        Attr::Floats(values) => {
            proto.floats.clone_from(values);
            AttributeType::Floats
        }
        Attr::Strs(values) => {
            proto.strings = values.iter().map(|value| value.clone().into_bytes()).collect();
            AttributeType::Strings
        }
        Attr::Tensor(tensor) => {
            proto.t = Some(tensor_proto("", tensor));
            AttributeType::Tensor
        }
        // Bodies stay with ONNX Runtime; the provider never claims the nodes that own them.
        Attr::Graph | Attr::Other => return None,
    };
    proto.r#type = kind.into();
    Some(proto)
}

fn tensor_proto(name: &str, tensor: &Tensor<'_>) -> TensorProto {
    tensor_of(name, tensor.dtype, &tensor.dims, tensor.bytes())
}

/// A tensor of this name, type and shape.
pub fn tensor_of(name: &str, dtype: DType, dims: &[usize], bytes: &[u8]) -> TensorProto {
    TensorProto {
        dims: dims.iter().map(|&dim| dim as i64).collect(),
        data_type: data_type(dtype).into(),
        name: name.to_owned(),
        raw_data: Some(bytes.to_vec()),
        ..TensorProto::default()
    }
}

fn value_info(value: &Value<'_>) -> ValueInfoProto {
    let dim = |dim: &Dim| match dim {
        Dim::Known(size) => DimensionProto { dim_value: Some(*size as i64), dim_param: None },
        Dim::Symbol(name) => DimensionProto { dim_value: None, dim_param: Some(name.to_string()) },
        Dim::Unknown => DimensionProto::default(),
    };
    let shape = value.shape.as_ref().map(|shape| TensorShapeProto { dim: shape.iter().map(dim).collect() });
    let elem_type = value.dtype.map_or(DataType::Undefined, data_type).into();
    let tensor_type = Some(TensorTypeProto { elem_type, shape });
    ValueInfoProto { name: value.name.clone(), r#type: Some(TypeProto { tensor_type }) }
}

fn data_type(dtype: DType) -> DataType {
    match dtype {
        DType::F32 => DataType::Float,
        DType::F16 => DataType::Float16,
        DType::BF16 => DataType::Bfloat16,
        DType::F64 => DataType::Double,
        DType::I8 => DataType::Int8,
        DType::U8 => DataType::Uint8,
        DType::I16 => DataType::Int16,
        DType::U16 => DataType::Uint16,
        DType::I32 => DataType::Int32,
        DType::U32 => DataType::Uint32,
        DType::I64 => DataType::Int64,
        DType::U64 => DataType::Uint64,
        DType::Bool => DataType::Bool,
        DType::I4 => DataType::Int4,
        DType::U4 => DataType::Uint4,
    }
}
